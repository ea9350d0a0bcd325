/**
 * @file Declares one configuration option: default value, help and what values it accepts.
 */

/** Says why a value is not accepted, or undefined when it is. */
export type OptionValidator<T> = (value: T) => string | undefined;

/** Declaration of one configuration option. */
export interface ConfigOption<T> {
  readonly defaultValue: T;
  readonly help: string;
  readonly validate: OptionValidator<T> | undefined;
}

/**
 * Declares an option for `defineConfig`.
 *
 * A new value must have the default's type (checked with `typeof`; arrays count as their own type).
 * When the default is `null` or `undefined` any value passes that check, so give a validator.
 */
export function option<T>(
  defaultValue: T,
  help: string,
  validate?: OptionValidator<T>,
): ConfigOption<T> {
  return { defaultValue, help, validate };
}

/** Validator: the value is one of those listed. */
export function oneOf<T>(values: readonly T[]): OptionValidator<T> {
  return (value) =>
    values.includes(value) ? undefined : `expected one of ${values.map(showValue).join(', ')}`;
}

/** Validator: the value is an integer between `min` and `max`, both included. */
export function integerIn(
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): OptionValidator<number> {
  return (value) => {
    if (Number.isInteger(value) && value >= min && value <= max) return undefined;
    const range = max === Number.MAX_SAFE_INTEGER ? `≥ ${min}` : `from ${min} to ${max}`;
    return `expected an integer ${range}`;
  };
}

/** Why `value` may not be given to the option, or undefined when it may. */
export function rejectionOf(option: ConfigOption<unknown>, value: unknown): string | undefined {
  const { defaultValue, validate } = option;
  if (
    defaultValue !== null &&
    defaultValue !== undefined &&
    typeName(value) !== typeName(defaultValue)
  ) {
    return `expected ${typeName(defaultValue)}, got ${typeName(value)}`;
  }
  return validate?.(value);
}

/** A configuration value as text, for messages and listings. */
export function showValue(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return value.name === '' ? 'function' : `function ${value.name}`;
  if (Array.isArray(value)) return `[${value.map(showValue).join(', ')}]`;
  return String(value);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
