/**
 * @file `pnpm bench partition`: bytes saved for backward by the default and the min-cut partitioner, beside
 * what PyTorch's partitioners saved for the same functions.
 */
import {
  type Partitioner,
  aotFunction,
  defaultPartition,
  minCutRematerializationPartition,
  runEagerly,
} from '@tessera/aot-autograd';
import { type Tensor, isTensor, itemSize } from '@tessera/tensor';
import recorded from '../../data/torch-partition.json' with { type: 'json' };
import { type PartitionFunction, leavesOf } from './partition-function.js';
import { PARTITION_FUNCTIONS } from './partition-functions.js';

/** One side: bytes saved for backward, and calls in the two graphs. */
interface Saved {
  readonly savedBytes: number;
  readonly forwardNodes: number;
  readonly backwardNodes: number;
}

/** A function under one partitioner. */
export interface PartitionRow {
  readonly name: string;
  readonly partitioner: 'default' | 'min_cut';
  readonly tessera: Saved;
  /** As recorded in `data/torch-partition.json`. */
  readonly torch: Saved;
}

const PARTITIONERS: Readonly<Record<PartitionRow['partitioner'], Partitioner>> = {
  default: defaultPartition,
  min_cut: minCutRematerializationPartition,
};

/** Partitions every function both ways. */
export function partitionRows(): PartitionRow[] {
  return PARTITION_FUNCTIONS.flatMap((sample) =>
    (Object.keys(PARTITIONERS) as PartitionRow['partitioner'][]).map((partitioner) => ({
      name: sample.name,
      partitioner,
      tessera: measure(sample, PARTITIONERS[partitioner]),
      torch: recorded.functions[sample.name][partitioner],
    })),
  );
}

function measure(sample: PartitionFunction, partitioner: Partitioner): Saved {
  let saved: Saved | null = null;
  aotFunction<Tensor[], Tensor>(sample.fn, {
    fwCompiler: runEagerly,
    partitionFn(joint) {
      const partition = partitioner(joint);
      const { forward, backward } = partition;
      const values = backward.graph.placeholders.slice(0, partition.saved.length);
      const calls = (nodes: typeof forward.graph.nodes): number =>
        nodes.filter((node) => node.op === 'call_function').length;
      saved = {
        savedBytes: values.reduce((sum, { meta: { val } }) => sum + bytesOf(val), 0),
        forwardNodes: calls(forward.graph.nodes),
        backwardNodes: calls(backward.graph.nodes),
      };
      return partition;
    },
  })(...leavesOf(sample));
  return saved!;
}

function bytesOf(value: unknown): number {
  return isTensor(value) ? value.numel * itemSize(value.dtype) : 0;
}
