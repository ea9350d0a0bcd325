/**
 * @file The worker that compiles: a program comes in, what became of it goes out.
 */
import type { Exploration } from '@tessera/compile/exploration';
import { explore } from './explore.js';

/** A program with the number that its result will have. */
export interface CompileRequest {
  readonly id: number;
  readonly source: string;
}

/** What became of a program, or why nothing did. */
export interface CompileResponse {
  readonly id: number;
  readonly exploration: Exploration | null;
  readonly failure: string | null;
}

addEventListener('message', async ({ data: { id, source } }: MessageEvent<CompileRequest>) => {
  let response: CompileResponse;
  try {
    response = { id, exploration: await explore(source), failure: null };
  } catch (error) {
    const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    response = { id, exploration: null, failure };
  }
  postMessage(response);
});
