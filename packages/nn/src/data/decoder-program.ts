/**
 * @file The program of a thread that decodes samples, as source text. The decoder is loaded with the first sample.
 */

/** Source text for `startWorker`. */
export const DECODER_PROGRAM: string = `
const buffers = (value, found = []) => {
  if (ArrayBuffer.isView(value)) { if (value.buffer instanceof ArrayBuffer) found.push(value.buffer); }
  else if (value instanceof ArrayBuffer) found.push(value);
  else if (value !== null && typeof value === 'object') for (const item of Object.values(value)) buffers(item, found);
  return found;
};
let decode = null;
async function receive({ module, id, sample }) {
  try {
    decode ??= (await import(module)).default;
    const value = await decode(sample);
    answer({ id, value }, [...new Set(buffers(value))]);
  } catch (error) {
    answer({ id, error: String((error && error.stack) || error) }, []);
  }
}
`;
