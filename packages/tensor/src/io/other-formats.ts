/**
 * @file Files that are often taken for safetensors, told apart by their first eight bytes.
 */
import { invalidFile } from './safetensors-header.js';

const ZIP_START = [0x50, 0x4b, 3, 4];
/** A pickle of a number of ten bytes, which is torch.serialization.MAGIC_NUMBER. */
const OLD_TORCH_START = [0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46];
/** `GGUF` and `version `, the start of LFS pointers. */
const GGUF_START = [0x47, 0x47, 0x55, 0x46];
const LFS_START = [0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x20];

/**
 * Refuses what is known to be something else, and says what to do with it.
 *
 * @throws safetensors-invalid
 */
export function refuseOtherFormats(start: Uint8Array): void {
  const starts = (...bytes: readonly number[]): boolean =>
    bytes.every((byte, i) => start[i] === byte);
  // A header of less than 4 GiB, as all are: its length may start with any of these bytes.
  if (start.byteLength < 8 || start.subarray(4).every((byte) => byte === 0)) return;
  if (starts(...ZIP_START))
    invalidFile(
      'it is a zip file, as torch.save writes them',
      'Load it with loadTorchCheckpoint().',
    );
  if (starts(...OLD_TORCH_START))
    invalidFile(
      'it was written by torch.save in the format from before PyTorch 1.6',
      'Load it in PyTorch and save its state_dict() again.',
    );
  if (starts(...GGUF_START))
    invalidFile('it is a GGUF file', 'Load a .safetensors file of the model.');
  if (start[0] === 0x3c)
    invalidFile(
      'it looks like an HTML page',
      'Check the address: an error page may have come instead.',
    );
  if (starts(...LFS_START))
    invalidFile('it is a pointer of Git LFS', 'Fetch the file itself: git lfs pull.');
}
