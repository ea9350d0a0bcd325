/**
 * @file The configuration store: sections of typed options, patched for a scope and restored.
 *
 * Every package defines its options once, at load, with `defineConfig`; the object it gets back is
 * the live view, so reading an option is a property read. Values change only through `config`.
 * Invariant: the value of an option is the newest patch that is still open, else its base value;
 * patches that close out of order (two async functions that overlap) therefore restore correctly.
 * Modelled on `torch._inductor.config` and `config.patch`.
 */
import { TesseraError } from '../errors.js';
import { nearestNames } from '../nearest-names.js';
import { scoped } from '../scope.js';
import { rejectionOf, showValue } from './config-option.js';
import type { ConfigOption } from './config-option.js';

/** The declared options of a section whose values have the types `T`. */
export type ConfigOptions<T> = { readonly [K in keyof T]: ConfigOption<T[K]> };

/** Values to set: `{ 'section.key': value }` or `{ section: { key: value } }`. */
export type ConfigValues = Readonly<Record<string, unknown>>;

/** One line of `config.describe()`. */
export interface ConfigEntry {
  /** Full path, `section.key`. */
  readonly path: string;
  readonly value: unknown;
  readonly defaultValue: unknown;
  readonly help: string;
}

interface Slot {
  readonly path: string;
  readonly key: string;
  readonly option: ConfigOption<unknown>;
  /** The section's live view, which holds the current value. */
  readonly view: Record<string, unknown>;
  base: unknown;
  /** Values of the open patches, oldest first. */
  readonly layers: { value: unknown }[];
}

const slots = new Map<string, Slot>();
const views = new Map<string, Record<string, unknown>>();

/**
 * Defines the options of a section and returns its live view; `''` is the root section.
 *
 * A section may be defined in several parts. Defining an option again with the same default and help
 * (a module that is loaded twice) keeps its current value.
 *
 * @throws invalid-argument when the option exists with another default or help, or a default does
 * not pass its own validator.
 */
export function defineConfig<T extends object>(
  section: string,
  options: ConfigOptions<T>,
): Readonly<T> {
  let view = views.get(section);
  if (view === undefined) views.set(section, (view = {}));
  for (const [key, option] of Object.entries<ConfigOption<unknown>>(options as never)) {
    const path = section === '' ? key : `${section}.${key}`;
    const existing = slots.get(path);
    if (existing !== undefined) {
      if (sameDefinition(existing.option, option)) continue;
      throw new TesseraError(
        'invalid-argument',
        `The configuration option '${path}' is already defined.`,
        {
          context: { path },
          hints: [
            'Choose another section or key; a section named after the package avoids collisions.',
          ],
        },
      );
    }
    const rejection = rejectionOf(option, option.defaultValue);
    if (rejection !== undefined) {
      throw new TesseraError(
        'invalid-argument',
        `The default of the configuration option '${path}' is not valid: ${rejection}.`,
        {
          context: { path, value: option.defaultValue },
        },
      );
    }
    slots.set(path, { path, key, option, view, base: option.defaultValue, layers: [] });
    view[key] = option.defaultValue;
  }
  return view as Readonly<T>;
}

function sameDefinition(a: ConfigOption<unknown>, b: ConfigOption<unknown>): boolean {
  return showValue(a.defaultValue) === showValue(b.defaultValue) && a.help === b.help;
}

/** The global configuration. */
export interface Config {
  /**
   * The current value of an option, by its full path.
   *
   * @throws unknown-config-key when no option has this path.
   */
  get(path: string): unknown;

  /**
   * Changes values for good (inside an open patch: until that patch closes).
   *
   * @throws unknown-config-key, invalid-config-value; then nothing has changed.
   */
  set(values: ConfigValues): void;

  /**
   * Runs `fn` with changed values and restores them after it returns, throws or settles.
   *
   * @throws unknown-config-key, invalid-config-value; then nothing has changed and `fn` did not run.
   */
  patch<R>(values: ConfigValues, fn: () => R): R;
  /** Changes values until the result is disposed: `using _ = config.patch({ … })`. */
  patch(values: ConfigValues): Disposable;

  /**
   * Values as full paths, in the order given, checked but not set.
   *
   * @throws unknown-config-key, invalid-config-value
   */
  resolve(values: ConfigValues): Readonly<Record<string, unknown>>;

  /** Every option with its value, default and help, in the order of definition. */
  describe(): ConfigEntry[];
}

function get(path: string): unknown {
  const slot = slots.get(path);
  if (slot === undefined) throw unknownKey(path);
  return slot.view[slot.key];
}

function set(values: ConfigValues): void {
  for (const { slot, value } of resolve(values)) {
    const top = slot.layers.at(-1);
    if (top === undefined) slot.base = value;
    else top.value = value;
    slot.view[slot.key] = value;
  }
}

function patch<R>(values: ConfigValues, fn: () => R): R;
function patch(values: ConfigValues): Disposable;
function patch<R>(values: ConfigValues, fn?: () => R): R | Disposable {
  const restore = applyPatch(values);
  if (fn === undefined) return { [Symbol.dispose]: restore };
  return scoped(fn, restore);
}

/** Opens a patch; the function that comes back closes it, once. */
function applyPatch(values: ConfigValues): () => void {
  const layers = resolve(values).map(({ slot, value }) => {
    const layer = { value };
    slot.layers.push(layer);
    slot.view[slot.key] = value;
    return { slot, layer };
  });
  return () => {
    for (const { slot, layer } of layers.splice(0)) {
      slot.layers.splice(slot.layers.indexOf(layer), 1);
      const top = slot.layers.at(-1);
      slot.view[slot.key] = top === undefined ? slot.base : top.value;
    }
  };
}

/** Finds and checks every named option before anything changes. */
function resolve(values: ConfigValues): { slot: Slot; value: unknown }[] {
  const found = new Map<Slot, unknown>();
  const pending = Object.entries(values);
  for (let entry = pending.shift(); entry !== undefined; entry = pending.shift()) {
    const [path, value] = entry;
    const slot = slots.get(path);
    if (slot === undefined) {
      if (!isSectionPath(path) || typeof value !== 'object' || value === null)
        throw unknownKey(path);
      pending.unshift(
        ...Object.entries(value).map(([key, v]): [string, unknown] => [`${path}.${key}`, v]),
      );
      continue;
    }
    const rejection = rejectionOf(slot.option, value);
    if (rejection !== undefined) {
      throw new TesseraError(
        'invalid-config-value',
        `The configuration option '${path}' does not accept ${showValue(value)}: ${rejection}.`,
        {
          context: { path, value, defaultValue: slot.option.defaultValue },
          hints: [`${path}: ${slot.option.help} (default ${showValue(slot.option.defaultValue)})`],
        },
      );
    }
    found.set(slot, value);
  }
  return [...found].map(([slot, value]) => ({ slot, value }));
}

function isSectionPath(path: string): boolean {
  for (const section of views.keys()) {
    if (section === path || section.startsWith(`${path}.`)) return true;
  }
  return false;
}

function unknownKey(path: string): TesseraError {
  const valid = [...slots.keys()];
  const lastPart = path.slice(path.lastIndexOf('.') + 1);
  const sameKey = valid.filter(
    (name) => name !== path && name.slice(name.lastIndexOf('.') + 1) === lastPart,
  );
  const near = [...new Set([...sameKey, ...nearestNames(path, valid)])].slice(0, 3);
  return new TesseraError(
    'unknown-config-key',
    `There is no configuration option '${path}'. The options are: ${valid.join(', ')}.`,
    {
      context: { path, valid },
      hints:
        near.length > 0 ? [`Did you mean ${near.map((name) => `'${name}'`).join(' or ')}?`] : [],
    },
  );
}

/** The global configuration: read by path, changed with `patch` or `set`. */
export const config: Config = /* @__PURE__ */ Object.freeze({
  get,
  set,
  patch,
  resolve: (values: ConfigValues) =>
    Object.fromEntries(resolve(values).map(({ slot, value }) => [slot.path, value])),
  describe() {
    return [...slots.values()].map(({ path, key, option, view }) => ({
      path,
      value: view[key],
      defaultValue: option.defaultValue,
      help: option.help,
    }));
  },
});
