/** @file Node as ES modules; Deno and Bun run it too. */
import { readFileSync } from 'node:fs';
import { train } from './train.js';

console.log(JSON.stringify(await train(readFileSync('digits.safetensors'))));
