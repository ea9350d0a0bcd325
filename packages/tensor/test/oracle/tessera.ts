/**
 * @file What the oracle runner uses of the package; a runner elsewhere imports the same from `@tessera/tensor`.
 */
export {
  type DType,
  type OpOverload,
  Storage,
  type Tensor,
  callOp,
  contiguousStrides,
  fakeFromMeta,
  fromBytes,
  isTensor,
  itemSize,
  makeTensor,
  noGrad,
  readNumbers,
  runBackward,
  storageExtent,
  writeNumbers,
} from '../../src/index.js';
export { SymScalar } from '@tessera/shared';
