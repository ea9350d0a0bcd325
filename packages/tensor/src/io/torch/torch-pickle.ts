/**
 * @file What names in a pickle of `torch.save` stand for: storages, tensors, parameters and containers, nothing else.
 *
 * As `torch.load(…, weights_only=True)`, and narrower. A name that is not listed here is refused when it is seen.
 */
import { isCount } from '../../shape.js';
import { storedType } from '../stored-type.js';
import { invalidTorch } from './invalid-torch.js';
import {
  PickleDict,
  PickleGlobal,
  PickleTuple,
  type PickleValue,
  TorchStorage,
  TorchTensor,
  type TorchType,
} from './pickle-values.js';
import { type PickleHost, unpickle } from './unpickler.js';

/** PyTorch's dtypes, by the names of storages before `Storage` and of `torch.` attributes; null: not loaded. */
const STORAGES: Readonly<Record<string, string | null>> = {
  Float: 'F32', Double: 'F64', Half: 'F16', BFloat16: 'BF16', Long: 'I64', Int: 'I32', Short: 'I16', Char: 'I8',
  Byte: 'U8', Bool: 'BOOL', ComplexFloat: null, ComplexDouble: null, ComplexHalf: null, QInt8: null, QUInt8: null,
  QInt32: null, QUInt4x2: null, QUInt2x4: null,
}; // prettier-ignore
const DTYPES: Readonly<Record<string, string | null>> = {
  float32: 'F32', float64: 'F64', float16: 'F16', bfloat16: 'BF16', int64: 'I64', int32: 'I32', int16: 'I16',
  int8: 'I8', uint8: 'U8', bool: 'BOOL', uint16: 'U16', uint32: 'U32', uint64: 'U64', float8_e4m3fn: 'F8_E4M3',
  float8_e5m2: 'F8_E5M2', float8_e8m0fnu: 'F8_E8M0', float8_e4m3fnuz: null, float8_e5m2fnuz: null,
  float4_e2m1fn_x2: null, complex32: null, complex64: null, complex128: null, qint8: null, quint8: null, qint32: null,
}; // prettier-ignore

const UNTYPED = ['torch.UntypedStorage', 'torch.storage.UntypedStorage'];

/** Names that may be called, and what a call means; and types that are only mentioned. */
const CALLS: Readonly<Record<string, (args: readonly PickleValue[]) => PickleValue>> = {
  'collections.OrderedDict': orderedDict,
  'torch.Size': ([items]) => items ?? new PickleTuple([]),
  'torch.device': (args) => args.map(String).join(':'),
  'torch._utils._rebuild_tensor': ([storage, ...layout]) => rebuildTensor(storage, null, layout),
  'torch._utils._rebuild_tensor_v2': ([storage, ...layout]) => rebuildTensor(storage, null, layout),
  'torch._utils._rebuild_tensor_v3': ([storage, offset, sizes, strides, , , dtype]) =>
    rebuildTensor(storage, dtype, [offset, sizes, strides]),
  'torch._utils._rebuild_parameter': ([data]) => tensorOnly(data),
  'torch._utils._rebuild_parameter_with_state': ([data]) => tensorOnly(data),
  'torch._tensor._rebuild_from_type_v2': rebuildFromType,
};
const TYPES = ['torch.Tensor', 'torch.nn.parameter.Parameter'];

const SAVE_STATE_DICT =
  'Save tensors only: in PyTorch, torch.save(model.state_dict(), path), or make it a .safetensors file.';

/** Own entries only: `constructor` is in no table. */
function lookUp<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function isKnown(name: string): boolean {
  return (
    lookUp(CALLS, name) !== undefined ||
    TYPES.includes(name) ||
    UNTYPED.includes(name) ||
    typeOf(name) !== null
  );
}

/** The element type that `torch.FloatStorage` or `torch.float32` names, null if it names none. */
function typeOf(name: string): TorchType | null {
  const match = /^torch\.(?:(\w+)Storage|(\w+))$/.exec(name);
  if (match === null) return null;
  const [, storage, dtype] = match;
  const code = storage !== undefined ? lookUp(STORAGES, storage) : lookUp(DTYPES, dtype!);
  if (code === undefined) return null;
  return { name: (storage ?? dtype)!, stored: code === null ? null : storedType(code) };
}

function malformed(what: string): never {
  return invalidTorch(`its pickle describes ${what} that cannot be`);
}

function orderedDict([pairs]: readonly PickleValue[]): PickleDict {
  const dict = new PickleDict();
  if (pairs === undefined) return dict;
  if (!Array.isArray(pairs)) malformed('a dict');
  for (const pair of pairs) {
    const [key, value] = pair instanceof PickleTuple ? pair.items : Array.isArray(pair) ? pair : [];
    if (key === undefined || value === undefined) malformed('a dict');
    dict.entries.set(key, value);
  }
  return dict;
}

function tensorOnly(value: PickleValue | undefined): TorchTensor {
  return value instanceof TorchTensor ? value : malformed('a parameter');
}

/** A tensor with Python attributes, which are dropped: `(function, type, arguments, state)`. */
function rebuildFromType([callee, type, args]: readonly PickleValue[]): PickleValue {
  if (
    !(callee instanceof PickleGlobal && callee.name.startsWith('torch._utils._rebuild_')) ||
    !(type instanceof PickleGlobal && TYPES.includes(type.name)) ||
    !(args instanceof PickleTuple)
  )
    malformed('a tensor');
  return tensorOnly(lookUp(CALLS, callee.name)!(args.items));
}

function counts(value: PickleValue | undefined): number[] {
  const items = value instanceof PickleTuple ? value.items : Array.isArray(value) ? value : null;
  if (items === null || items.length > 64 || !items.every(isCount)) malformed('a tensor');
  return [...items];
}

/** Elements of a storage that a layout reaches; Infinity for numbers that are too large. */
function extent(offset: number, sizes: readonly number[], strides: readonly number[]): number {
  const numel = sizes.reduce((product, size) => product * size, 1);
  if (numel === 0) return 0;
  const last = sizes.reduce((sum, size, d) => sum + (size - 1) * strides[d]!, offset);
  return Number.isSafeInteger(numel) && Number.isSafeInteger(last) ? last + 1 : Infinity;
}

function rebuildTensor(
  storage: PickleValue | undefined,
  dtype: PickleValue | undefined,
  [offset, size, stride]: readonly (PickleValue | undefined)[],
): TorchTensor {
  const sizes = counts(size);
  const strides = counts(stride);
  if (!(storage instanceof TorchStorage) || !isCount(offset) || sizes.length !== strides.length)
    malformed('a tensor');
  const type = dtype instanceof PickleGlobal ? typeOf(dtype.name) : storage.type;
  if (type === null) malformed('a tensor');
  const bytes = storage.type === null ? (type.stored?.itemSize ?? 1) : 1;
  if (type.stored !== null && extent(offset, sizes, strides) > Math.floor(storage.count / bytes))
    malformed('a tensor larger than its storage');
  return new TorchTensor(storage, type, offset, sizes, strides);
}

/** `('storage', type, key, device, count)`. */
function persistent(id: PickleValue): TorchStorage {
  const [kind, type, key, , count] = id instanceof PickleTuple ? id.items : [];
  const known =
    type instanceof PickleGlobal && (UNTYPED.includes(type.name) || type.name.endsWith('Storage'));
  if (kind !== 'storage' || !known || typeof key !== 'string' || !isCount(count))
    malformed('a storage');
  return new TorchStorage(key, typeOf(type.name), count);
}

const host: PickleHost = {
  global(module, name) {
    const full = `${module}.${name}`;
    if (isKnown(full)) return new PickleGlobal(full);
    const hint = full.startsWith('__torch__')
      ? 'It is a TorchScript module: torch.jit.load it and save its state_dict().'
      : SAVE_STATE_DICT;
    return invalidTorch(`it holds a '${full}', and only tensors and containers are read`, hint, {
      global: full,
    });
  },
  reduce(callee, args) {
    const call = callee instanceof PickleGlobal ? lookUp(CALLS, callee.name) : undefined;
    return call === undefined ? malformed('a call') : call(args);
  },
  persistent,
  build(object) {
    // Attributes of dicts (`_metadata` of a state dict) and of tensors are not kept.
    if (!(object instanceof PickleDict || object instanceof TorchTensor)) malformed('an object');
  },
};

/** The value that `torch.save` was given. @throws torch-checkpoint-invalid */
export function parseTorchPickle(bytes: Uint8Array): PickleValue {
  return unpickle(bytes, host);
}
