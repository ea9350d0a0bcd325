/**
 * @file What the demo's worker tells its page.
 */

/** A digit that the model was not trained on. */
export interface SeenDigit {
  /** 64 values 0…16, row by row. */
  readonly pixels: Uint8Array;
  readonly label: number;
  readonly predicted: number;
}

/** In the order they come: `loaded`, `step` many times with `tested` between, `done`; or `failed` at any time. */
export type DemoMessage =
  | { readonly kind: 'loaded'; readonly examples: number; readonly parameters: number }
  | {
      readonly kind: 'step';
      readonly step: number;
      readonly loss: number;
      /** Milliseconds of this step; the first one compiles. */
      readonly ms: number;
    }
  | { readonly kind: 'tested'; readonly accuracy: number; readonly digits: readonly SeenDigit[] }
  | { readonly kind: 'done'; readonly graphs: number; readonly kernels: number }
  | { readonly kind: 'failed'; readonly text: string };

/** What the page asks for. */
export interface DemoRequest {
  /** Address of the packed digits. */
  readonly data: string;
  readonly epochs: number;
}
