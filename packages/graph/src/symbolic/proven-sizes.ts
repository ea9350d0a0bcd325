/**
 * @file `ProvenSizes`: sizes of a captured program at which a template is known to stand for it, without a graph.
 *
 * The graphs that the template was found to stand for are samples: of the sizes of the program, and of the numbers that
 * vary in its graph. Where they determine those numbers (`SampledNumbers`), the template says the same of them, and
 * operators are in the same cases (`TemplateProof`), the graph would be the template.
 */
import { SampledNumbers } from '@tessera/shared';
import { sameNumbers } from '@tessera/tensor/internal';
import type { GraphTemplate } from './graph-template.js';
import { TemplateProof } from './template-proof.js';

/** See the file header. */
export class ProvenSizes {
  /** The values of the template's symbols, then the other numbers that vary. */
  private readonly samples = new SampledNumbers();

  private constructor(
    private readonly template: GraphTemplate,
    private readonly proof: TemplateProof,
  ) {}

  /** What samples can tell of a template; null where operators may do something else at other sizes. */
  static of(template: GraphTemplate): ProvenSizes | null {
    const proof = TemplateProof.of(template);
    return proof === null ? null : new ProvenSizes(template, proof);
  }

  /** Notes that a graph made for sizes of the program is the template at values of its symbols. */
  add(sizes: readonly number[], values: readonly number[]): void {
    const { template, samples } = this;
    samples.add(sizes, [...values, ...template.numbersIn(template.at(values))]);
  }

  /**
   * The values of the symbols for sizes of the program and the inputs of the graph; null if nothing proves any.
   *
   * @param inputs null where another graph of the program, which is proven, makes them
   */
  valuesAt(sizes: readonly number[], inputs: readonly unknown[] | null): readonly number[] | null {
    const { template, proof, samples } = this;
    const { quotients } = template;
    const symbols = template.symbols.length;
    let numbers = samples.at(sizes, symbols + quotients);
    if (numbers === null) return null;
    // A polynomial of numbers that are linear in the sizes is one of the sizes, of the same degree: samples tell it.
    const isTold = samples.areLinear(symbols);
    if (!isTold) numbers = samples.at(sizes);
    if (numbers === null) return null;
    const values = numbers.slice(0, symbols);
    if (!template.isInRange(values)) return null;
    const computed = template.at(values);
    const wanted = isTold ? quotients : numbers.length - symbols;
    const isSame = (): boolean =>
      sameNumbers(template.numbersIn(computed, wanted), numbers.slice(symbols, symbols + wanted));
    return (wanted === 0 || isSame()) &&
      template.admits(values, computed) &&
      proof.holds(computed, inputs)
      ? values
      : null;
  }
}
