/**
 * @file What the page and its worker say to each other.
 */
import type { DeviceType } from '@tessera/tensor';

/** A model to load: an address of a folder or of a GGUF file, the files of a chosen folder, or a chosen GGUF file. */
export type ModelSource =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'folder'; readonly files: readonly File[] }
  | { readonly kind: 'gguf'; readonly file: File };

/** How a model is loaded. */
export interface LoadRequest {
  readonly source: ModelSource;
  readonly quantize: 4 | 8 | null;
  readonly device: DeviceType;
}

/** How an answer is made. */
export interface AnswerSettings {
  readonly temperature: number;
  readonly topP: number;
  readonly maxNewTokens: number;
  readonly seed?: number;
}

/** What the page asks. */
export type Request =
  | { readonly kind: 'load'; readonly request: LoadRequest }
  | { readonly kind: 'answer'; readonly content: string; readonly settings: AnswerSettings }
  | { readonly kind: 'stop' };

/** What the worker tells. */
export type Reply =
  | {
      readonly kind: 'progress';
      readonly file: string;
      readonly loaded: number;
      readonly total: number | null;
    }
  | { readonly kind: 'ready'; readonly layers: number; readonly parameters: number }
  | { readonly kind: 'piece'; readonly text: string }
  | { readonly kind: 'answered'; readonly stopped: boolean }
  | { readonly kind: 'failed'; readonly message: string };
