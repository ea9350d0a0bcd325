/**
 * @file Embeddings over a table that there is already. @see torch.nn.Embedding.from_pretrained
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { Module } from '../module/module.js';
import { skipInit } from '../module/skip-init.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';

/** Options of an embedding over a table: what is said by the table is none of them. */
export type TableOptions<O extends FactoryOptions> = Omit<O, keyof FactoryOptions> & {
  /** Whether the table stays as it is (default true). */
  readonly freeze?: boolean;
};

/** Makes a module of such options whose `weight` is the table; no other memory is taken, and nothing drawn. */
export function overTable<O extends FactoryOptions, M extends Module & { weight: Parameter }>(
  type: { readonly name: string; readonly optionNames: Readonly<Record<keyof O, true>> },
  table: Tensor,
  options: TableOptions<O>,
  make: (rows: number, width: number, options: TableOptions<O>) => M,
): M {
  const names: Record<string, true> = { ...type.optionNames, freeze: true };
  delete names['device'];
  delete names['dtype'];
  checkOptionNames(`${type.name}.fromPretrained`, options, names);
  const [rows, width] = table.sizes;
  if (table.ndim !== 2)
    throw new TesseraError(
      'shape-mismatch',
      'Embeddings parameter is expected to be 2-dimensional',
      { hints: ['A table has a row per index: [numEmbeddings, embeddingDim].'] },
    );
  const { freeze = true, ...rest } = options;
  const module = skipInit(() => make(rows!, width!, rest as TableOptions<O>));
  module.weight = new Parameter(table, { requiresGrad: !freeze });
  return module;
}
