/**
 * @file Functions of f64, named `…_f64`.
 *
 * Sines, exponentials and so on are the host's own (JavaScript's `Math`): eager tensors use them too, so compiled
 * float64 programs give the same numbers, and polynomials good to 1e-16 would have no more to offer.
 */
import { roundedDown } from './float-division.js';
import { HOST_FUNCTIONS, type FunctionTable } from './program.js';

const hostFunctions: FunctionTable = Object.fromEntries(
  HOST_FUNCTIONS.map((name) => {
    const params = name === 'atan2' || name === 'pow' ? ['a', 'b'] : ['a'];
    const declared = params.map((param) => `${param}: f64`).join(', ');
    const text = `fn ${name}_f64(${declared}) -> f64 { return ${name}(${params.join(', ')}); }`;
    return [`${name}_f64`, { text }];
  }),
);

/** See the file header. */
export const DOUBLE_FUNCTIONS: FunctionTable = {
  ...hostFunctions,
  exp2_f64: { text: 'fn exp2_f64(x: f64) -> f64 { return pow(2.0, x); }' },
  sigmoid_f64: { text: 'fn sigmoid_f64(x: f64) -> f64 { return 1.0 / (1.0 + exp(-x)); }' },
  /** IEEE's power, which unlike JavaScript's gives 1 for 1 ** NaN and (±1) ** ±∞. */
  pow_f64: {
    text: `fn pow_f64(a: f64, b: f64) -> f64 {
  return select(pow(a, b), 1.0, (a == 1.0) | ((a == -1.0) & (abs(b) == @inf64())));
}`,
  },
  /** Subtracts b·2ᵏ for falling k: every step is exact, and the quotients of real programs are small. */
  fmod_f64: {
    text: `fn fmod_f64(a: f64, b: f64) -> f64 {
  var x = abs(a);
  let y = abs(b);
  if (!(x < @inf64()) | !(y > 0.0)) { return @nan64(); }
  if (x < y) { return a; }
  var power = y;
  while (power <= x * 0.5) { power = power + power; }
  while (power >= y) {
    if (x >= power) { x = x - power; }
    power = power * 0.5;
  }
  return @with_sign(x, a);
}`,
  },
  ...roundedDown('f64', '_f64'),
  /** The rational approximations of fdlibm's `s_erf.c`. */
  erf_f64: {
    text: `fn erf_f64(x: f64) -> f64 {
  let a = abs(x);
  if (a < 0.84375) {
    let z = x * x;
    return x + x * (poly(z, 1.28379167095512558561e-1, -3.25042107247001499370e-1, -2.84817495755985104766e-2, -5.77027029648944159157e-3, -2.37630166566501626084e-5) / poly(z, 1.0, 3.97917223959155352819e-1, 6.50222499887672944485e-2, 5.08130628187576562776e-3, 1.32494738004321644526e-4, -3.96022827877536812320e-6));
  }
  if (a < 1.25) {
    let s = a - 1.0;
    return @with_sign(8.45062911510467529297e-1 + poly(s, -2.36211856075265944077e-3, 4.14856118683748331666e-1, -3.72207876035701323847e-1, 3.18346619901161753674e-1, -1.10894694282396677476e-1, 3.54783043256182359371e-2, -2.16637559486879084300e-3) / poly(s, 1.0, 1.06420880400844228286e-1, 5.40397917702171048937e-1, 7.18286544141962662868e-2, 1.26171219808761642112e-1, 1.36370839120290507362e-2, 1.19844998467991074170e-2), x);
  }
  if (a >= 6.0) { return @with_sign(f64(1.0), x); }
  if (a != a) { return x; }
  let s = 1.0 / (a * a);
  var r = a;
  if (a < 2.857142857142857) {
    r = poly(s, -9.86494403484714822705e-3, -6.93858572707181764372e-1, -1.05586262253232909814e1, -6.23753324503260060396e1, -1.62396669462573470355e2, -1.84605092906711035994e2, -8.12874355063065934246e1, -9.81432934416914548592) / poly(s, 1.0, 1.96512716674392571292e1, 1.37657754143519042600e2, 4.34565877475229228821e2, 6.45387271733267880336e2, 4.29008140027567833386e2, 1.08635005541779435134e2, 6.57024977031928170135, -6.04244152148580987438e-2);
  } else {
    r = poly(s, -9.86494292470009928597e-3, -7.99283237680523006574e-1, -1.77579549177547519889e1, -1.60636384855821916062e2, -6.37566443368389627722e2, -1.02509513161107724954e3, -4.83519191608651397019e2) / poly(s, 1.0, 3.03380607434824582924e1, 3.25792512996573918826e2, 1.53672958608443695994e3, 3.19985821950859553908e3, 2.55305040643316442583e3, 4.74528541206955367215e2, -2.24409524465858183362e1);
  }
  return @with_sign(1.0 - exp((r - 0.5625) - a * a) / a, x);
}`,
  },
};
