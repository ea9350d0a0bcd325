/**
 * Copies the oracle cases of the operators that this package defines into `test/oracle/cases.br`.
 *
 *   node scripts/extract-oracle.mjs <oracle folder> <file with one op per line>
 *
 * The folder holds `ops_dev.json` (calls that PyTorch made) and `ops_dev.safetensors` (their tensors).
 * The output is one brotli file: u32 length of the JSON, the JSON, then the bytes of all tensors, equal
 * ones stored once. Large tensors hardly compress, so cases are taken smallest first within each
 * operator until the operator has its share of the budget; at least three cases of each are kept.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';

/** Uncompressed tensor bytes per operator. */
const SHARE_BYTES = Number(process.env.ORACLE_SHARE_BYTES ?? 16_000);
const KEEP_AT_LEAST = 3;

const [folder, listFile] = process.argv.slice(2);
if (folder === undefined || listFile === undefined) {
  console.error('usage: node scripts/extract-oracle.mjs <oracle folder> <op list>');
  process.exit(2);
}

const wanted = new Set(readFileSync(listFile, 'utf8').split('\n').filter((line) => line !== ''));
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

const byOp = new Map();
for (const entry of source.cases) {
  if (!wanted.has(entry.op)) continue;
  if (!byOp.has(entry.op)) byOp.set(entry.op, []);
  byOp.get(entry.op).push(entry);
}

const chosen = [];
for (const cases of byOp.values()) {
  const sized = cases.map((entry) => ({ entry, bytes: caseBytes(entry) })).sort((a, b) => a.bytes - b.bytes);
  let spent = 0;
  sized.forEach(({ entry, bytes }, i) => {
    spent += bytes;
    if (i < KEEP_AT_LEAST || spent <= SHARE_BYTES) chosen.push(entry);
  });
}

const chunks = [];
const positions = new Map();
let offset = 0;
for (const entry of chosen) {
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

const json = Buffer.from(JSON.stringify({ torch: source.torch, cases: chosen }));
const length = Buffer.alloc(4);
length.writeUInt32LE(json.length);
const packed = brotliCompressSync(Buffer.concat([length, json, ...chunks]), { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } });
writeFileSync(new URL('../test/oracle/cases.br', import.meta.url), packed);
console.log(`${chosen.length} of ${[...byOp.values()].flat().length} cases of ${byOp.size} operators, ${offset} tensor bytes, ${packed.length} bytes compressed`);
