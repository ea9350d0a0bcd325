/**
 * @file `cpuBackend`: WebAssembly with SIMD and threads, behind the `KernelBackend` contract.
 */
import { checkedExecutable } from '@tessera/inductor-core';
import { type Size, type Steps, TesseraError, atOnce } from '@tessera/shared';
import type {
  Executable,
  ExecutionPlan,
  FusedKernel,
  GeneratedKernel,
  KernelBackend,
  KernelSource,
  PlanTemplate,
  TemplateExecutable,
} from '@tessera/inductor-core';
import { DTYPES, isDType } from '@tessera/tensor';
import { attentionForm } from './attention/attention-form.js';
import type { CodeOptions } from './body/vector-builder.js';
import { hasLoopForms } from './loops/loop-forms.js';
import type { WasmKernel } from './wasm-kernel.js';
import { generateLoopKernel } from './loops/loop-kernel.js';
import { generateMatmul } from './matmul/generate-matmul.js';
import { generateRecurrence } from './recurrence/recurrence.js';
import { cpuConfig } from './runtime/cpu-config.js';
import { kernelSource, loadingSteps } from './runtime/load-plan.js';
import { loadTemplate } from './runtime/load-template.js';
import { runOperatorCode } from './runtime/operator-code.js';
import { hasPairProducts } from './runtime/pair-products.js';
import { hasRelaxedSimd } from './runtime/relaxed-simd.js';

/** Pieces of a reduction with few results: enough for the threads of ordinary machines, the same on all. */
const PARALLELISM = 8;
/** Below this many elements per result, splitting costs more than threads gain. */
const SPLIT_REDUCTION_THRESHOLD = 1 << 15;

function codeOptions(): CodeOptions {
  return {
    relaxedSimd: cpuConfig.relaxedSimd && hasRelaxedSimd(),
    pairProducts: hasPairProducts(),
    rowBits: cpuConfig.rowBits,
  };
}

/** Code of a kernel, not yet linked. @throws kernel-missing when an operation has no form, plan-invalid */
export function generateKernel(
  kernel: GeneratedKernel<Size>,
  options: CodeOptions = codeOptions(),
): WasmKernel {
  switch (kernel.kind) {
    case 'loop':
      return generateLoopKernel(kernel, options);
    case 'matmul':
      return generateMatmul(kernel, options);
    case 'recurrence':
      return generateRecurrence(kernel, options);
    case 'attention':
      if (attentionForm !== null) return attentionForm.generate(kernel, options);
      throw new TesseraError(
        'kernel-missing',
        `Kernel '${kernel.name}' is of kind '${kernel.kind}', which the CPU has none of.`,
        {
          context: { kernel: kernel.name, device: 'cpu' },
          hints: ['Compile the graph for the CPU: it is lowered to other kernels there.'],
        },
      );
  }
}

function* loading(plan: ExecutionPlan): Steps<Executable> {
  return checkedExecutable(yield* loadingSteps(plan, (kernel) => generateKernel(kernel)));
}

/**
 * Rows for which taking weights apart once for each takes less time than a product of floats, which takes them apart once
 * for all and writes them down, and values of which they have a multiple (`gemvProblem` of inductor-core).
 */
const PACKED_ROWS = { rows: 6, step: 32 };

/** The CPU backend. */
export const cpuBackend: KernelBackend = {
  name: 'cpu',
  device: 'cpu',
  capabilities: {
    dtypes: new Set(Object.keys(DTYPES).filter(isDType)),
    int64: 'native',
    maxBuffersPerKernel: 256,
    extern: true,
    parallelism: PARALLELISM,
    splitReductionThreshold: SPLIT_REDUCTION_THRESHOLD,
    scans: true,
    recurrences: 'memory',
    windows: true,
    cheapKernels: true,
    get attention() {
      return attentionForm?.kernels;
    },
    get packedRows() {
      return hasLoopForms() ? PACKED_ROWS : undefined;
    },
  },
  generate(kernel: FusedKernel): KernelSource {
    return kernelSource(kernel, kernel.kind === 'extern' ? null : generateKernel(kernel));
  },
  load(plan: ExecutionPlan): Executable {
    return atOnce(loading(plan));
  },
  loadingSteps: loading,
  runOperator: runOperatorCode,
  loadTemplate(template: PlanTemplate): TemplateExecutable {
    return loadTemplate(template, (kernel) => generateKernel(kernel));
  },
};
