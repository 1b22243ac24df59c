"""What the schemes of one family share."""
