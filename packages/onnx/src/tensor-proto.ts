/**
 * @file Tensors in files of their own, as tests of ONNX come with.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { type Tensor, fromBytes } from '@tessera/tensor';
import { TensorProtoSchema, type TensorProto } from './generated/onnx_pb.js';
import { invalidOnnx } from './errors.js';
import { readTensorLiteral } from './model/tensor-literal.js';

/** The tensor in the bytes of a `.pb` file, and its name there. @throws onnx-invalid, onnx-unsupported */
export function parseTensorProto(bytes: Uint8Array): { name: string; tensor: Tensor } {
  const where = 'the tensor file';
  let proto: TensorProto;
  try {
    proto = fromBinary(TensorProtoSchema, bytes);
  } catch (cause) {
    invalidOnnx(where, 'its bytes are no tensor', { cause });
  }
  const {
    name,
    type,
    shape,
    bytes: values,
  } = readTensorLiteral(proto, where, () => invalidOnnx(where, 'its values are in another file'));
  return { name, tensor: fromBytes(values, shape, type.dtype) };
}
