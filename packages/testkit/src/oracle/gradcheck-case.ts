/**
 * @file Derivatives of a recorded call against finite differences: the arguments are PyTorch's, widened to float64,
 * and no recorded result is read.
 */
import { type OpOverload, type Tensor, isFloatingPoint } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import {
  type GradcheckOpOptions,
  type OpGradients,
  float64Like,
  gradcheckOp,
} from './gradcheck-op.js';
import { oracleArguments, oracleTensor } from './oracle-arguments.js';
import type { OracleCase, OracleFile, OracleTensor } from './oracle-file.js';

/** A float64 tensor of a case in the layout that PyTorch saw; integers as they are. */
function widened(file: OracleFile, reference: OracleTensor): Tensor {
  const recorded = oracleTensor(file, reference);
  if (!isFloatingPoint(recorded.dtype)) return recorded;
  return float64Like(recorded.sizes, recorded.strides, readNumbers(recorded));
}

function widenedDtype(value: unknown): unknown {
  return value === 'float32' || value === 'float16' || value === 'bfloat16' ? 'float64' : value;
}

/** `gradcheckOp` of a recorded call (one with `grad_in`). @throws TesseraError what the call itself throws */
export function gradcheckCase(
  file: OracleFile,
  op: OpOverload,
  entry: OracleCase,
  options: GradcheckOpOptions = {},
): OpGradients {
  const args = oracleArguments(op, entry, (reference) => widened(file, reference)).map((arg, i) =>
    op.schema.args[i]!.type.base === 'ScalarType' ? widenedDtype(arg) : arg,
  );
  const inputs = entry.grad_in!.map(({ arg, index }) => ({ arg: op.argIndex.get(arg)!, index }));
  return gradcheckOp(op, args, inputs, options);
}
