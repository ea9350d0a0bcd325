/**
 * @file Powers, by the method of FreeBSD's e_powf.c.
 *
 * Split products are cut by bit masks that no compiler rearranges, so log2 |x| is known to 48 bits.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const POWER: FunctionTable = {
  pow: {
    ulp: 2,
    text: `fn pow(x: f32, y: f32) -> f32 {
  let ax = abs(x);
  let ix = bitcast<u32>(ax);
  let iy = bitcast<u32>(y) & 0x7fffffffu;
  if (iy == 0u || x == 1.0) { return 1.0; }
  if (ix > 0x7f800000u || iy > 0x7f800000u) { return @nan(); }
  // 0: y is no integer, 1: odd, 2: even
  var parity = 0u;
  if (iy >= 0x4b800000u) { parity = 2u; }
  else if (y == trunc(y)) { parity = select(1u, 2u, (i32(y) & 1) == 0); }
  let negative = (bitcast<u32>(x) >> 31u) == 1u;
  if (iy == 0x7f800000u) {
    if (ix == 0x3f800000u) { return 1.0; }
    return select(0.0, @inf(), (ix > 0x3f800000u) == (y > 0.0));
  }
  if (ix == 0u || ix == 0x7f800000u) {
    let size = select(0.0, @inf(), (ix == 0u) == (y < 0.0));
    return select(size, -size, negative && parity == 1u);
  }
  if (negative && parity == 0u) { return @nan(); }
  let sign = select(1.0, -1.0, negative && parity == 1u);
  if (ix == 0x3f800000u) { return sign; }
  // log2(ax) = t1 + t2 in 24 + 24 bits.
  let subnormal = ix < 0x00800000u;
  let scaled = bitcast<u32>(select(ax, ax * 16777216.0, subnormal));
  var n = i32(scaled >> 23u) - 127 - select(0, 24, subnormal);
  let j = scaled & 0x007fffffu;
  var m = j | 0x3f800000u;
  var upper = false;
  if (j > 0x1cc471u) {
    if (j < 0x5db3d7u) { upper = true; } else { n += 1; m -= 0x00800000u; }
  }
  let a = bitcast<f32>(m);
  let bp = select(1.0, 1.5, upper);
  let u = a - bp;
  let v = 1.0 / (a + bp);
  let ss = u * v;
  let s_h = bitcast<f32>(bitcast<u32>(ss) & 0xfffff000u);
  let t_hi = bitcast<f32>((((m >> 1u) & 0xfffff000u) | 0x20000000u) + 0x00400000u + select(0u, 0x00200000u, upper));
  let t_lo = a - (t_hi - bp);
  let s_l = v * ((u - s_h * t_hi) - s_h * t_lo);
  let s2 = ss * ss;
  var r = s2 * s2 * (6.0000002384e-1 + s2 * (4.2857143283e-1 + s2 * (3.3333334327e-1 + s2 * (2.7272811532e-1 + s2 * (2.3066075146e-1 + s2 * 2.0697501302e-1)))));
  r += s_l * (s_h + ss);
  let sh2 = s_h * s_h;
  let th = bitcast<f32>(bitcast<u32>(3.0 + sh2 + r) & 0xfffff000u);
  let tl = r - ((th - 3.0) - sh2);
  let uu = s_h * th;
  let vv = s_l * th + tl * ss;
  let p_h = bitcast<f32>(bitcast<u32>(uu + vv) & 0xfffff000u);
  let p_l = vv - (p_h - uu);
  let z_h = 9.6191406250e-1 * p_h;
  let z_l = -1.1736857402e-4 * p_h + p_l * 9.6179670095e-1 + select(0.0, 1.56322085e-06, upper);
  let dp_h = select(0.0, 5.84960938e-01, upper);
  let nf = f32(n);
  let t1 = bitcast<f32>(bitcast<u32>(((z_h + z_l) + dp_h) + nf) & 0xfffff000u);
  let t2 = z_l - (((t1 - nf) - dp_h) - z_h);
  // y * log2(ax) = product_h + product_l; beyond these bounds the result over- or underflows.
  let y1 = bitcast<f32>(bitcast<u32>(y) & 0xfffff000u);
  let whole = y * (t1 + t2);
  if (whole > 130.0) { return sign * @inf(); }
  if (whole < -152.0) { return sign * 0.0; }
  let product_l = (y - y1) * t1 + y * t2;
  let product_h = y1 * t1;
  let z = product_h + product_l;
  let k = round(z);
  let rest_h = product_h - k;
  let t = bitcast<f32>(bitcast<u32>(product_l + rest_h) & 0xffff8000u);
  let e_h = t * 6.93145752e-01;
  let e_l = (product_l - (t - rest_h)) * 6.9314718246e-01 + t * 1.42860654e-06;
  let e = e_h + e_l;
  let w = e_l - (e - e_h);
  let q = e * e;
  let poly = e - q * (1.6666667163e-1 + q * (-2.7777778450e-3 + q * (6.6137559770e-5 + q * (-1.6533901999e-6 + q * 4.1381369442e-8))));
  let res = (e * poly) / (poly - 2.0) - (w + e * w);
  return sign * @scale(1.0 - (res - e), i32(k));
}`,
  },
};
