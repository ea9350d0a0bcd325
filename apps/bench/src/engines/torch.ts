/**
 * @file Engine `torch`: PyTorch's figures, recorded on other machines with the same workloads.
 *
 * They say where the bar is, not who wins here. See `data/README.md`.
 */
import cpuFigures from '../../data/torch-cpu2.json' with { type: 'json' };
import gpuFigures from '../../data/torch-h200.json' with { type: 'json' };
import type { Engine, LoadedEngine, Recorded, Unsupported } from '../harness/engine.js';

/** Figures of one workload; times are µs, but for first calls. */
interface Figures {
  readonly eager_us?: number;
  readonly eager_pipelined_us?: number;
  readonly default_us?: number;
  readonly default_pipelined_us?: number;
  readonly default_first_call_s?: number;
  readonly whole_step_us?: number;
  readonly whole_step_pipelined_us?: number;
  readonly whole_step_first_call_s?: number;
}

interface Recording {
  readonly torch: string;
  readonly results: Readonly<Record<string, Figures>>;
}

/** The compiled figure that is faster, and how long its first call took. */
function bestCompiled(
  figures: Figures,
  pipelined: boolean,
): { us: number; seconds: number | undefined } {
  const { default_us, default_pipelined_us, whole_step_us, whole_step_pipelined_us } = figures;
  const separate = (pipelined ? default_pipelined_us : default_us) ?? Infinity;
  const whole = (pipelined ? whole_step_pipelined_us : whole_step_us) ?? Infinity;
  return whole < separate
    ? { us: whole, seconds: figures.whole_step_first_call_s }
    : { us: separate, seconds: figures.default_first_call_s };
}

/** @see torch.compile */
export const torch: Engine = {
  name: 'torch',
  about: "PyTorch's figures, recorded on another machine",
  async load({ device }): Promise<LoadedEngine> {
    const onGpu = device === 'wgpu';
    const recording = (onGpu ? gpuFigures : cpuFigures) as Recording;
    return {
      versions: { torch: recording.torch },
      threads: onGpu ? 1 : cpuFigures.threads,
      hardware: onGpu ? gpuFigures.device : `${cpuFigures.threads} threads of a Xeon host`,
      async prepare(workload, _instance, quick): Promise<Recorded | Unsupported> {
        const figures = recording.results[workload.name];
        if (figures === undefined) return { unsupported: 'not recorded' };
        if (quick) return { unsupported: 'recorded at full size only' };
        // GPU work is timed here with many runs in flight, as PyTorch's pipelined figures were.
        const eager = onGpu ? figures.eager_pipelined_us : figures.eager_us;
        const compiled = bestCompiled(figures, onGpu);
        const rows = [];
        if (compiled.us < Infinity) {
          const { us, seconds } = compiled;
          const firstCallMs = seconds === undefined ? null : 1000 * seconds;
          rows.push({ label: 'torch.compile', medianUs: us, firstCallMs });
        }
        if (eager !== undefined) {
          rows.push({ label: 'torch eager', medianUs: eager, firstCallMs: null });
        }
        return { recorded: rows };
      },
    };
  },
};
