/**
 * Strokes on the way from one picture to the next. Points move straight, and hands turn about
 * their first point, the short way. Pictures with other points jump.
 * @param {[number, number][][] | undefined} from
 * @param {[number, number][][]} to
 * @param {{share: number, form: string}} way share is 1 at its end
 */
export function between(from, to, { share, form }) {
  const alike = from?.length === to.length && from.every((each, n) => each.length === to[n].length);
  if (share >= 1 || !alike) {
    return to;
  }
  const part = form === "hand" ? turned : moved;
  return from.map((stroke, n) => part(stroke, to[n], share));
}

const mixed = (one, other, share) => one + share * (other - one);

const moved = (from, to, share) =>
  from.map((point, n) => point.map((each, axis) => mixed(each, to[n][axis], share)));

function turned(from, to, share) {
  const [start] = moved(from, to, share);
  const polar = ([[x, y], [tipX, tipY]]) => [
    Math.hypot(tipX - x, tipY - y),
    Math.atan2(tipY - y, tipX - x),
  ];
  const [[short, begin], [long, end]] = [polar(from), polar(to)];
  const whole = 2 * Math.PI;
  const turn = end - begin - whole * Math.round((end - begin) / whole);
  const [length, angle] = [mixed(short, long, share), begin + share * turn];
  return [start, [start[0] + length * Math.cos(angle), start[1] + length * Math.sin(angle)]];
}
