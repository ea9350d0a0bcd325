/**
 * @file `importOnnx`: an ONNX file → a module.
 *
 * Everything that can be wrong with a file is found here: its form, its external files, operators nobody has. What is
 * returned runs.
 */
import type { ByteSource } from '@tessera/tensor';
import { readWhole, sourceBelow } from '@tessera/tensor/internal';
import { invalidOnnx } from './errors.js';
import type { GraphProto, ModelProto, TensorProto } from './generated/onnx_pb.js';
import { isLikelyParameter } from './initializers.js';
import { type OnnxModel, ML_DOMAIN, nodesOf } from './model/model.js';
import { parseModel, readModel } from './model/read-model.js';
import { type ExternalBytes, externalReference } from './model/tensor-literal.js';
import { OnnxModule } from './onnx-module.js';
import { checkSupported } from './registry.js';

/** What `importOnnx` takes besides the source. */
export interface ImportOnnxOptions {
  /** Ends loading: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Given to `fetch`: headers, credentials, mode. */
  readonly requestInit?: RequestInit;
  /**
   * Bytes of the external files by the path that the model gives, or a function that reads one. Without it they are
   * read beside the model, which needs a path or an address.
   */
  readonly externalData?:
    Readonly<Record<string, Uint8Array>> | ((location: string) => Promise<Uint8Array>);
  /**
   * Which float initialisers are parameters; the others are buffers. Default: all but numbers without dimensions whose
   * name has no dot. Exporters name scales, exponents and epsilons so, which no optimizer should move.
   */
  readonly isParameter?: (name: string, sizes: readonly number[]) => boolean;
}

/** Every tensor of a graph and of the graphs in it; functions have nodes, and no initializers. */
function* tensorsOf(
  graph: Partial<Pick<GraphProto, 'initializer'>> & Pick<GraphProto, 'node'>,
): Generator<TensorProto> {
  yield* graph.initializer ?? [];
  for (const node of graph.node) {
    for (const attribute of node.attribute) {
      if (attribute.t !== undefined) yield attribute.t;
      if (attribute.g !== undefined) yield* tensorsOf(attribute.g);
    }
  }
}

/** Reads the external files of a model. @throws onnx-invalid, source-unreadable */
async function readExternal(
  proto: ModelProto,
  source: ByteSource,
  options: ImportOnnxOptions,
): Promise<ExternalBytes> {
  const files = new Map<string, Uint8Array>();
  const { externalData } = options;
  for (const tensor of [proto.graph!, ...proto.functions].flatMap((each) => [...tensorsOf(each)])) {
    const where = `initializer '${tensor.name}'`;
    const location = externalReference(tensor, where)?.location;
    if (location === undefined || files.has(location)) continue;
    if (typeof externalData === 'function') {
      files.set(location, await externalData(location));
    } else if (externalData !== undefined && Object.hasOwn(externalData, location)) {
      files.set(location, externalData[location]!);
    } else {
      const file = sourceBelow(source, location);
      if (file === null)
        invalidOnnx(where, `its values are in the file '${location}', which is not at hand`, {
          hint: `Import the model by path or address, or pass externalData: { '${location}': bytes }.`,
        });
      files.set(location, await readWhole(file, options));
    }
  }
  return (location, where) =>
    files.get(location) ?? invalidOnnx(where, `the file '${location}' was not read`);
}

/** Loads the operators that few models need, if this one does. @throws onnx-invalid */
async function withOperators(model: OnnxModel): Promise<OnnxModel> {
  for (const { domain } of nodesOf(model))
    if (domain === ML_DOMAIN) return (await import('./ops/ml/index.js')).withTables(model);
  return model;
}

/**
 * Imports an ONNX model as a module: initialisers are its parameters and buffers, under their names.
 *
 * @param source a path (in Node), an address, bytes, a Blob, a Response or a stream
 * @throws onnx-invalid for files that are no ONNX or are damaged; onnx-unsupported naming every operator that is
 * missing; source-unreadable
 * @example
 * const model = await importOnnx('model.onnx');
 * const run = compile((images: Tensor) => model.call(images));
 * const { logits } = run(images);
 */
export async function importOnnx(
  source: ByteSource,
  options: ImportOnnxOptions = {},
): Promise<OnnxModule> {
  const proto = parseModel(await readWhole(source, options));
  const model = await withOperators(readModel(proto, await readExternal(proto, source, options)));
  checkSupported(model);
  return new OnnxModule(model, options.isParameter ?? isLikelyParameter);
}
