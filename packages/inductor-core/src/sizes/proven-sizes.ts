/**
 * @file `ProvenSizes`: sizes of a captured program at which a template is known to stand for it, without a graph.
 *
 * The graphs that the template was found to stand for are samples: of the sizes of the program, and of the values that
 * the template's symbols had there. Where they determine what operators compute (`SizeSamples`), and those are in the
 * same cases (`TemplateProof`), the graph would be the template.
 */
import type { GraphTemplate, TemplateProof } from '@tessera/graph';
import { SizeSamples } from '@tessera/shared';

/** See the file header. */
export class ProvenSizes {
  private readonly samples = new SizeSamples();
  private readonly values: (readonly number[])[] = [];
  /** Which size of the program each symbol is; null while unknown, or where one is none. */
  private places: readonly number[] | null = null;

  constructor(
    private readonly template: GraphTemplate,
    private readonly proof: TemplateProof,
  ) {}

  /** Notes that a graph made for sizes of the program is the template at values of its symbols. */
  add(sizes: readonly number[], values: readonly number[]): void {
    if (!this.samples.add(sizes)) return;
    this.values.push(values);
    this.places = this.samples.suffice ? this.findPlaces() : null;
  }

  /**
   * The values of the symbols for sizes of the program and the inputs of the graph; null if nothing proves any.
   *
   * @param inputs null where another graph of the program, which is proven, makes them
   */
  valuesAt(sizes: readonly number[], inputs: readonly unknown[] | null): readonly number[] | null {
    if (this.places === null || !this.samples.determine(sizes)) return null;
    const values = this.places.map((at) => sizes[at]!);
    const { template, proof } = this;
    return template.isInRange(values) && template.admits(values) && proof.holds(values, inputs)
      ? values
      : null;
  }

  private findPlaces(): readonly number[] | null {
    const { list } = this.samples;
    const places = this.template.symbols.map((_, symbol) =>
      list[0]!.findIndex((_size, at) =>
        list.every((sizes, i) => sizes[at] === this.values[i]![symbol]),
      ),
    );
    return places.includes(-1) ? null : places;
  }
}
