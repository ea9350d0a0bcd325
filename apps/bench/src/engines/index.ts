/**
 * @file All engines. To add one, write its adapter and add it here.
 */
import type { Engine } from '../harness/engine.js';
import { jaxJs } from './jax-js.js';
import { ortNode } from './ort-node.js';
import { ortWeb } from './ort-web.js';
import { tessera, tesseraEager } from './tessera.js';
import { tfjsWasm } from './tfjs-wasm.js';
import { torch } from './torch.js';

/** The engine that others are compared with; it always runs. */
export const BASELINE: Engine = tessera;

/** What `--peers` may name. */
export const PEERS: readonly Engine[] = [tesseraEager, jaxJs, tfjsWasm, ortWeb, ortNode, torch];

/** The engine of a name, if there is one. */
export function findEngine(name: string): Engine | undefined {
  return [BASELINE, ...PEERS].find((engine) => engine.name === name);
}
