/**
 * @file All workloads, in the order of the table. To add one, write its file and add it here.
 */
import { TesseraError, nearestNames } from '@tessera/shared';
import type { Device, Workload } from '../harness/workload.js';
import { convolutions } from './convolutions.js';
import { firstCallMlp, firstCallTiny } from './first-call.js';
import { layerNorm } from './layer-norm.js';
import { matmuls } from './matmul.js';
import { mlpTrainStep } from './mlp-train-step.js';
import { operators } from './operators.js';
import { pointwiseChain } from './pointwise-chain.js';
import { softmax } from './softmax.js';
import { tinyCall, tinyCallPure } from './tiny-call.js';

export const WORKLOADS: readonly Workload[] = [
  pointwiseChain,
  softmax,
  layerNorm,
  ...matmuls,
  ...convolutions,
  mlpTrainStep,
  tinyCall,
  tinyCallPure,
  firstCallTiny,
  firstCallMlp,
  ...operators,
];

/** Workloads of the given names or groups; without names, those of the device. @throws invalid-argument */
export function selectWorkloads(names: readonly string[], device: Device): Workload[] {
  for (const name of names) {
    if (WORKLOADS.some((workload) => isNamed(workload, name))) continue;
    const known = WORKLOADS.map((workload) => workload.name);
    const [near] = nearestNames(name, known);
    throw new TesseraError('invalid-argument', `There is no workload '${name}'.`, {
      context: { name },
      hints: [
        ...(near === undefined ? [] : [`Did you mean '${near}'?`]),
        `Workloads: ${known.join(', ')}.`,
      ],
    });
  }
  return WORKLOADS.filter((workload) =>
    names.length === 0
      ? workload.devices.includes(device)
      : names.some((name) => isNamed(workload, name)),
  );
}

function isNamed({ name, group }: Workload, wanted: string): boolean {
  return name === wanted || group === wanted;
}
