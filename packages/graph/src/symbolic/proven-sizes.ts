/**
 * @file `ProvenSizes`: sizes of a captured program at which a template is known to stand for it, without a graph.
 *
 * The graphs that the template was found to stand for are samples: of the sizes of the program, and of the numbers that
 * vary in its graph. Where they determine those numbers (`SampledNumbers`), the template says the same of them, and
 * operators are in the same cases (`TemplateProof`), the graph would be the template. Where too many numbers are left of
 * divisions for that, samples are looked at node by node (`NodeSamples`).
 */
import { SampledNumbers } from '@tessera/shared';
import type { GraphTemplate } from './graph-template.js';
import { NodeSamples } from './node-samples.js';
import { TemplateProof } from './template-proof.js';

/** See the file header. */
export class ProvenSizes {
  /** The values of the template's symbols, and numbers of which polynomials of those do not tell that they are right. */
  private readonly symbols = new SampledNumbers();
  /** The other numbers that vary. */
  private readonly others = new SampledNumbers();

  private constructor(
    private readonly template: GraphTemplate,
    private readonly proof: TemplateProof,
    private readonly nodes: NodeSamples | null,
  ) {}

  /** What samples can tell of a template; null where operators may do something else at other sizes. */
  static of(template: GraphTemplate): ProvenSizes | null {
    const proof = TemplateProof.of(template);
    return proof === null ? null : new ProvenSizes(template, proof, NodeSamples.of(template));
  }

  /** Notes that a graph made for sizes of the program is the template, where its program computes this. */
  add(sizes: readonly number[], computed: readonly number[]): void {
    const { template, symbols, others } = this;
    const { quotients } = template;
    const numbers = template.numbersIn(computed);
    const values = computed.slice(0, template.symbols.length);
    symbols.add(sizes, [...values, ...numbers.slice(0, quotients)]);
    if (symbols.linear < values.length) others.add(sizes, numbers.slice(quotients));
    this.nodes?.add(computed);
  }

  /**
   * What the template's program computes for sizes of its program and the inputs of the graph, beginning with the values
   * of its symbols; null if nothing proves any.
   *
   * @param inputs null where another graph of the program, which is proven, makes them; undefined for single ones
   */
  computedAt(
    sizes: readonly number[],
    inputs: readonly unknown[] | null,
  ): readonly number[] | null {
    const { template, proof, symbols } = this;
    let numbers = symbols.at(sizes);
    if (numbers === null) return inputs === null ? null : this.computedByNode(inputs);
    // A polynomial of symbols that are linear in the sizes is one of the sizes, of the same degree: samples tell it.
    if (symbols.linear < template.symbols.length) {
      const others = this.others.at(sizes);
      if (others === null) return null;
      numbers = [...numbers, ...others];
    }
    const computed = template.at(numbers);
    return template.admits(computed, numbers) && proof.holds(computed, inputs) ? computed : null;
  }

  /** What the program computes for inputs, if every node of the template is known to be right there. */
  private computedByNode(inputs: readonly unknown[]): readonly number[] | null {
    const { template, proof, nodes } = this;
    const values = nodes?.valuesFor(inputs) ?? null;
    if (nodes === null || values === null) return null;
    const computed = template.at(values);
    return template.admits(computed) && proof.holds(computed, inputs) && nodes.holds(computed)
      ? computed
      : null;
  }
}
