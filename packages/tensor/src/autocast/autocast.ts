/**
 * @file `autocast`: mixed precision for a stretch of code.
 */
import { type OptionNames, TesseraError, checkFunction, checkOptionNames } from '@tessera/shared';
import type { DeviceType } from '../device.js';
import { AutocastScope } from './apply-autocast.js';
import { type AutocastDType, autocastState, withAutocastSettings } from './autocast-state.js';

/** What `autocast` takes besides the function. */
export interface AutocastOptions {
  /** Device whose ops are cast. Default: `cpu`. */
  readonly device?: DeviceType;
  /** Default: `bfloat16` on `cpu`, `float16` elsewhere. */
  readonly dtype?: AutocastDType;
  /** False leaves the types alone, inside another scope too. Default: true. */
  readonly enabled?: boolean;
  /** Cast a parameter that is used several times only once. Default: true. */
  readonly cacheEnabled?: boolean;
}

const AUTOCAST: OptionNames<AutocastOptions> = {
  device: true,
  dtype: true,
  enabled: true,
  cacheEnabled: true,
};

function defaultType(device: DeviceType): AutocastDType {
  return device === 'cpu' ? 'bfloat16' : 'float16';
}

/**
 * Runs `fn` in mixed precision: products and convolutions compute in a 16-bit type, ops that need the
 * range or the precision in float32, others in the types of their inputs. Call `backward()` outside: its
 * ops run in the types of their forward ops.
 *
 * @throws invalid-argument, dtype-unsupported for a dtype that is not a 16-bit float
 * @example const loss = autocast({ device: 'wgpu' }, () => F.crossEntropy(model.call(x), y));
 * @see torch.autocast
 */
export function autocast<R>(options: AutocastOptions, fn: () => R): R {
  if (typeof options === 'function')
    throw new TesseraError('invalid-argument', 'autocast: options come before the function.', {
      hints: ['Write autocast({ … }, () => …).'],
    });
  checkOptionNames('autocast()', options, AUTOCAST);
  checkFunction('autocast', fn);
  const { device = 'cpu', enabled = true, cacheEnabled = true } = options;
  const dtype = options.dtype ?? defaultType(device);
  if (dtype !== 'float16' && dtype !== 'bfloat16') {
    throw new TesseraError('dtype-unsupported', `autocast cannot compute in ${String(dtype)}.`, {
      hints: ['Use float16 or bfloat16.'],
    });
  }
  const outer = autocastState.active;
  const dtypes = new Map(outer?.dtypes);
  if (enabled) dtypes.set(device, dtype);
  else dtypes.delete(device);
  // An inner scope shares the casts of the outer one only if it casts to the same types.
  const same = outer?.dtypes.get(device) === dtype;
  const casts = !cacheEnabled
    ? null
    : same && outer instanceof AutocastScope
      ? outer.casts
      : new Map();
  return scoped(dtypes.size === 0 ? null : new AutocastScope(dtypes, casts), fn);
}

function scoped<R>(settings: AutocastScope | null, fn: () => R): R {
  const result = withAutocastSettings(settings, fn);
  if (!(result instanceof Promise)) return result;
  // Nobody will wait for it.
  result.catch(() => {});
  throw new TesseraError(
    'invalid-argument',
    'autocast: the function is asynchronous, and what it does after its first await would run outside the scope.',
    { hints: ['Give autocast the synchronous part, and await outside.'] },
  );
}

/** Whether ops on a device are cast. */
export function isAutocastEnabled(device: DeviceType = 'cpu'): boolean {
  return autocastState.active?.dtypes.has(device) === true;
}

/** The 16-bit type of the scope, or the default of the device. */
export function getAutocastDType(device: DeviceType = 'cpu'): AutocastDType {
  return autocastState.active?.dtypes.get(device) ?? defaultType(device);
}
