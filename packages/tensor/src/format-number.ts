/**
 * @file Decimal notation as C and Python round it: ties go to the even digit, where JavaScript's go up.
 */

/** Digits that show any float32 or small float64 exactly. */
const EXACT_DIGITS = 100;

function special(value: number): string | null {
  if (Number.isNaN(value)) return 'nan';
  return value === Infinity ? 'inf' : value === -Infinity ? '-inf' : null;
}

/** Whether the digits behind position `at` of an exact decimal are exactly one half. */
function isTie(exact: string, at: number): boolean {
  const rest = exact.slice(at).replace('.', '');
  return /^50*$/.test(rest);
}

/** `%.{digits}f` */
export function formatFixed(value: number, digits: number): string {
  const named = special(value);
  if (named !== null) return named;
  const text = value.toFixed(digits);
  const sign = Object.is(value, -0) && !text.startsWith('-') ? '-' : '';
  if (Math.abs(value) >= 1e21)
    return BigInt(value).toString() + (digits > 0 ? `.${'0'.repeat(digits)}` : '');
  const exact = value.toFixed(EXACT_DIGITS);
  const end = exact.indexOf('.') + (digits > 0 ? digits + 1 : 0);
  if (!isTie(exact, end)) return sign + text;
  const down = exact.slice(0, end);
  const lastIsEven = Number(down.at(-1)) % 2 === 0;
  return sign + (lastIsEven ? down : text === down ? awayFromZero(down) : text);
}

/** The next decimal of the same length; JavaScript rounds ties up, which for negatives is toward zero. */
function awayFromZero(text: string): string {
  const digits = text.split('');
  for (let i = digits.length - 1; i >= 0; i--) {
    if (digits[i] === '.' || digits[i] === '-') continue;
    if (digits[i] !== '9') {
      digits[i] = String(Number(digits[i]) + 1);
      return digits.join('');
    }
    digits[i] = '0';
  }
  return text.startsWith('-') ? `-1${digits.slice(1).join('')}` : `1${digits.join('')}`;
}

/** `%.{digits}e`, with an exponent of at least two digits. */
export function formatExponential(value: number, digits: number): string {
  const named = special(value);
  if (named !== null) return named;
  let text = value.toExponential(digits);
  const exact = value.toExponential(EXACT_DIGITS);
  const end = exact.indexOf('.') + digits + 1;
  const mantissa = exact.slice(0, exact.indexOf('e'));
  if (isTie(mantissa, end) && Number(mantissa[end - 1]) % 2 === 0)
    text = mantissa.slice(0, end) + exact.slice(exact.indexOf('e'));
  const sign = Object.is(value, -0) && !text.startsWith('-') ? '-' : '';
  return sign + text.replace(/e([+-])(\d)$/, 'e$10$2');
}
