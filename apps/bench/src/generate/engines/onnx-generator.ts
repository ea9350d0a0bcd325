/**
 * @file What the two ONNX Runtime engines share: one decoder called token by token, keys and values handed back in, as
 * transformers.js does it.
 */
import type { InferenceSession, Tensor } from 'onnxruntime-web';
import type { DecoderConfig } from '@tessera/transformers';
import type { OnnxDecoder } from '../files/decoder-onnx.js';
import { type LoadedLanguageModel, timed } from '../language-engine.js';

/** Makes a tensor of either package. */
export type MakeTensor = new (type: string, data: unknown, dims: readonly number[]) => Tensor;

/** See the file header. */
export class OnnxGenerator implements LoadedLanguageModel {
  readonly weightBytes: number;

  constructor(
    readonly about: string,
    private readonly session: InferenceSession,
    private readonly Tensor: MakeTensor,
    private readonly config: DecoderConfig,
    private readonly decoder: Omit<OnnxDecoder, 'bytes'>,
  ) {
    this.weightBytes = decoder.weightBytes;
  }

  answer(prompt: readonly number[], count: number): ReturnType<LoadedLanguageModel['answer']> {
    return timed(this.tokens(prompt), count);
  }

  dispose(): Promise<void> {
    return this.session.release();
  }

  private async *tokens(prompt: readonly number[]): AsyncGenerator<number> {
    let [ids, past, state] = [prompt, 0, this.nothing()];
    for (;;) {
      const results = await this.session.run({ ...state, ...this.feeds(ids, past) });
      past += ids.length;
      state = {};
      for (const [name, tensor] of Object.entries(results))
        if (name !== 'logits') state[name.replace('present', 'past')] = tensor as Tensor;
      const token = likeliest(results['logits']!.data as ArrayLike<number>);
      yield token;
      ids = [token];
    }
  }

  private feeds(ids: readonly number[], past: number): Record<string, Tensor> {
    const { Tensor, config } = this;
    const whole = (values: readonly number[], dims: readonly number[]): Tensor =>
      new Tensor('int64', BigInt64Array.from(values, BigInt), dims);
    const positions = ids.map((_, i) => past + i);
    return {
      input_ids: whole(ids, [1, ids.length]),
      last: whole([ids.length - 1], [1]),
      seqlens_k: new Tensor('int32', Int32Array.of(past + ids.length - 1), [1]),
      total_length: new Tensor('int32', Int32Array.of(past + ids.length), []),
      ...(config.positions.kind === 'learned' && {
        position_ids: whole(positions, [1, ids.length]),
      }),
    };
  }

  /** Keys and values of no tokens. */
  private nothing(): Record<string, Tensor> {
    const { config, decoder, Tensor } = this;
    const { kvHeads, headDim } = config.attention;
    const Values = decoder.floats === 'float16' ? Uint16Array : Float32Array;
    const names = Array.from({ length: config.layers }, (_, i) => [
      `past.${i}.key`,
      `past.${i}.value`,
    ]).flat();
    return Object.fromEntries(
      names.map((name) => [
        name,
        new Tensor(decoder.floats, new Values(0), [1, kvHeads, 0, headDim]),
      ]),
    );
  }
}

/** The place of the largest number; 16-bit floats are compared by their bits. */
function likeliest(logits: ArrayLike<number>): number {
  const value = logits instanceof Uint16Array ? orderOfHalf : (x: number): number => x;
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (value(logits[i]!) > value(logits[best]!)) best = i;
  return best;
}

/** Whole numbers in the order of the 16-bit floats with these bits. */
function orderOfHalf(bits: number): number {
  return bits >= 0x8000 ? 0x8000 - bits : bits;
}
