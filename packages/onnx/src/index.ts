/**
 * @file `@tessera/onnx`: ONNX files as modules.
 */
export { type ImportOnnxOptions, importOnnx } from './import-onnx.js';
export {
  type OnnxInput,
  type OnnxInputs,
  OnnxModule,
  type OnnxOutputs,
  type OnnxValueInfo,
} from './onnx-module.js';

// Operators from outside
export { type UnsupportedOperator, onnxOperators, registerOnnxOperator } from './registry.js';
export { HostArray } from './run/host-array.js';
export { NodeCall } from './run/node-call.js';
export type { Value } from './run/value.js';
export type { ElementType } from './model/element-types.js';
export type { AttributeValue, OnnxGraph, OnnxNode, TensorLiteral } from './model/model.js';

// Files of tests
export { parseTensorProto } from './tensor-proto.js';
