/**
 * @file `LARGEST`: which value is the largest of those that the lanes of a workgroup have found.
 */

/** `reduce` leaves it in `largest[0]`, and the first place of it in `place[0]`. */
export const LARGEST = `var<workgroup> largest: array<f32, THREADS>;
var<workgroup> place: array<u32, THREADS>;
fn reduce(lane: u32) {
  workgroupBarrier();
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    if (lane < half) {
      let other = lane + half;
      let more = largest[other] > largest[lane];
      if (more || (largest[other] == largest[lane] && place[other] < place[lane])) {
        largest[lane] = largest[other];
        place[lane] = place[other];
      }
    }
    workgroupBarrier();
  }
}
`;
