/**
 * @file Where operator tests come from: a folder in the layout of the onnx package, or the part of it that the
 * repository carries in one compressed file.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { unpack } from './archive.js';

/** Tensors in and out, as bytes of their files. */
export interface DataSet {
  readonly inputs: readonly Uint8Array[];
  readonly outputs: readonly Uint8Array[];
}

/** One test. */
export interface NodeTest {
  /** `<kind>/<test>` */
  readonly test: string;
  /** Bytes of the ONNX file. */
  readonly model: Uint8Array;
  readonly dataSets: readonly DataSet[];
}

/** Reads a file of a test; null if there is none. */
type Read = (path: string) => Uint8Array | null;

function dataSet(read: Read, folder: string): DataSet {
  const list = (kind: string): Uint8Array[] => {
    const found: Uint8Array[] = [];
    for (let bytes = read(`${folder}/${kind}_0.pb`); bytes !== null;) {
      found.push(bytes);
      bytes = read(`${folder}/${kind}_${found.length}.pb`);
    }
    return found;
  };
  return { inputs: list('input'), outputs: list('output') };
}

function nodeTest(test: string, read: Read): NodeTest | null {
  const model = read(`${test}/model.onnx`);
  if (model === null) return null;
  const dataSets: DataSet[] = [];
  for (;;) {
    const data = dataSet(read, `${test}/test_data_set_${dataSets.length}`);
    if (data.outputs.length === 0) return { test, model, dataSets };
    dataSets.push(data);
  }
}

/** Tests of an unpacked archive, in order of their names. */
export function* testsOfFolder(dir: string): Generator<NodeTest> {
  const read: Read = (path) =>
    existsSync(join(dir, path)) ? new Uint8Array(readFileSync(join(dir, path))) : null;
  for (const kind of readdirSync(dir, { withFileTypes: true })) {
    if (!kind.isDirectory()) continue;
    for (const folder of readdirSync(join(dir, kind.name)).sort()) {
      const found = nodeTest(`${kind.name}/${folder}`, read);
      if (found !== null) yield found;
    }
  }
}

/** Tests that the repository carries. */
export function* carriedTests(): Generator<NodeTest> {
  const files = unpack(
    brotliDecompressSync(readFileSync(new URL('../data/nodes.br', import.meta.url))),
  );
  const names = new Set(Array.from(files.keys(), (path) => path.split('/').slice(0, 2).join('/')));
  for (const test of names) {
    const found = nodeTest(test, (path) => files.get(path) ?? null);
    if (found !== null) yield found;
  }
}
