/**
 * @file Reads the data files that ship with the demo.
 */
import type { DeviceType } from '@tessera/tensor';
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { type DigitFacts, type Digits, readDigits } from './digits.js';

const DATA = new URL('../data/', import.meta.url);

/** Loads the data that ships with the demo. */
export async function loadDigits(device: DeviceType): Promise<Digits> {
  const packed = await readFile(new URL('digits.safetensors.gz', DATA));
  const facts = JSON.parse(await readFile(new URL('digits.json', DATA), 'utf8')) as DigitFacts;
  return readDigits(gunzipSync(packed), facts, device);
}
