/**
 * Packs a folder of oracle data into `test/oracle/cases.br`, the file that the operator tests read.
 *
 *   node scripts/extract-oracle.mjs <oracle folder>
 *
 * The folder holds `ops_dev.json` (calls that PyTorch made) and `ops_dev.safetensors` (their tensors).
 * The output is one brotli file: u32 length of the JSON, the JSON, then the bytes of all tensors, equal
 * ones stored once. Left out are matrix factorizations, for which no operator is planned, and the few
 * cases with the largest tensors.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: node scripts/extract-oracle.mjs <oracle folder>');
  process.exit(2);
}

const source = JSON.parse(readFileSync(`${folder}/ops_dev.json`, 'utf8'));
const file = readFileSync(`${folder}/ops_dev.safetensors`);
const headerLength = Number(file.readBigUInt64LE(0));
const header = JSON.parse(file.subarray(8, 8 + headerLength).toString('utf8'));

function bytesOf(name) {
  const [begin, end] = header[name].data_offsets;
  return file.subarray(8 + headerLength + begin, 8 + headerLength + end);
}

/** Calls `visit` on every tensor reference in a case. */
function forEachTensor(value, visit) {
  if (value === null || typeof value !== 'object') return;
  if (typeof value.tensor === 'string') visit(value);
  else for (const inner of Object.values(value)) forEachTensor(inner, visit);
}

function caseBytes(entry) {
  let total = 0;
  forEachTensor(entry, (reference) => (total += bytesOf(reference.tensor).length));
  return total;
}

const LEFT_OUT =
  /^aten\.(_?linalg_(?!vector_norm|norm|matrix_norm|cross)|qr|logdet|pinverse|matrix_exp|triangular_solve)/;
const LARGEST_CASE_BYTES = 40_000;
const cases = source.cases.filter(
  (entry) => !LEFT_OUT.test(entry.op) && caseBytes(entry) <= LARGEST_CASE_BYTES,
);

const chunks = [];
const positions = new Map();
let offset = 0;
for (const entry of cases) {
  forEachTensor(entry, (reference) => {
    const bytes = bytesOf(reference.tensor);
    const key = createHash('sha1').update(bytes).digest('hex');
    if (!positions.has(key)) {
      positions.set(key, offset);
      chunks.push(bytes);
      offset += bytes.length;
    }
    reference.tensor = positions.get(key);
  });
}

const json = Buffer.from(JSON.stringify({ torch: source.torch, cases }));
const length = Buffer.alloc(4);
length.writeUInt32LE(json.length);
const packed = brotliCompressSync(Buffer.concat([length, json, ...chunks]), {
  params: { [constants.BROTLI_PARAM_LGWIN]: 24 },
});
writeFileSync(new URL('../test/oracle/cases.br', import.meta.url), packed);
console.log(
  `${cases.length} of ${source.cases.length} cases, ${offset} tensor bytes, ${packed.length} bytes compressed`,
);
