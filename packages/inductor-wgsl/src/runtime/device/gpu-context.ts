/**
 * @file `GpuContext`: the device with everything asked of the adapter, and the errors it reports.
 *
 * WebGPU reports most errors later. They are kept here, first one first, and thrown by the next call that
 * can: a run, an upload, a download, `synchronize`.
 */
import { TesseraError, log } from '@tessera/shared';
import { describeHolders, memoryReport } from '@tessera/tensor/internal';
import { hasMatrixCode } from '../../codegen/matrices/matrix-code.js';
import type { WgslTarget } from '../../codegen/target.js';
import { halfMatrices, SUBGROUP_MATRIX } from './matrix-shape.js';
import { WgpuMemory } from '../memory/wgpu-memory.js';

/** Limits that are raised from WebGPU's defaults to what the adapter offers. */
const RAISED_LIMITS = [
  'maxStorageBuffersPerShaderStage',
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupsPerDimension',
  'maxDynamicStorageBuffersPerPipelineLayout',
] as const;

const WANTED_FEATURES = ['shader-f16', 'subgroups', SUBGROUP_MATRIX, 'timestamp-query'] as const;

/** Workgroups that a GPU of today needs to be busy, and a software adapter. */
const PARALLELISM = { gpu: 256, software: 4 };

/** The kind of device that code is made for. */
export type DeviceProfile = 'gpu' | 'software';

/** See the file header. */
export class GpuContext {
  readonly target: WgslTarget;
  /** What the adapter says it is: vendor, architecture, device. */
  readonly adapterName: string;
  private failure: TesseraError | null = null;
  /** Error scopes that have not answered yet. */
  private readonly scopes = new Set<Promise<void>>();
  private disposed = false;
  /** Some buffer did not get its memory: what is invalid since may follow from it. */
  private ranOut = false;
  /** Told of a loss, once. */
  private readonly listeners = new Set<(loss: TesseraError) => void>();

  private constructor(
    /** Kept so that Dawn's instance outlives its device. */
    readonly gpu: GPU | null,
    readonly device: GPUDevice,
    info: GPUAdapterInfo | undefined,
    profile: DeviceProfile | undefined,
  ) {
    const { limits, features } = device;
    const detected = info?.architecture === 'swiftshader' || info?.isFallbackAdapter === true;
    const software = profile === undefined ? detected : profile === 'software';
    const subgroups =
      features.has('subgroups') && info !== undefined
        ? { min: info.subgroupMinSize ?? 4, max: info.subgroupMaxSize ?? 128 }
        : null;
    const f16 = features.has('shader-f16');
    // Generated code tells subgroups apart by the numbers of their threads.
    const oneSize = subgroups !== null && subgroups.min === subgroups.max;
    const hasMatrices = f16 && oneSize && features.has(SUBGROUP_MATRIX);
    if (hasMatrices && !hasMatrixCode())
      log(
        'perf',
        () => 'Subgroup matrices stay unused: call useSubgroupMatrices() before initWebGpu()',
      );
    this.target = {
      f16,
      subgroups,
      matrices: hasMatrices && hasMatrixCode() ? halfMatrices(info!) : null,
      maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
      maxWorkgroupThreads: Math.min(
        limits.maxComputeInvocationsPerWorkgroup,
        limits.maxComputeWorkgroupSizeX,
      ),
      maxWorkgroupBytes: limits.maxComputeWorkgroupStorageSize,
      maxWorkgroupsPerDimension: limits.maxComputeWorkgroupsPerDimension,
      maxBindingBytes: Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize),
      parallelism: software ? PARALLELISM.software : PARALLELISM.gpu,
      software,
    };
    this.adapterName = [info?.vendor, info?.architecture, info?.device, info?.description]
      .filter((part) => part !== undefined && part !== '')
      .join(' ');
    device.onuncapturederror = ({ error }) => {
      // Use of a buffer for which there was no memory: that was reported.
      if (this.ranOut && /\binvalid\b/i.test(error.message)) return;
      this.fail(describeError(error));
    };
    void device.lost.then((lost) => {
      if (this.disposed) return;
      const loss = this.lossOf(lost);
      this.failure = loss;
      for (const listener of this.listeners) listener(loss);
      this.listeners.clear();
    });
  }

  /** Wraps a device made elsewhere. */
  static wrap(device: GPUDevice, profile?: DeviceProfile): GpuContext {
    return new GpuContext(null, device, device.adapterInfo, profile);
  }

  /** Requests a device with the adapter's own limits. @throws device-unavailable */
  static async request(
    gpu: GPU | null,
    adapter: GPUAdapter,
    profile?: DeviceProfile,
  ): Promise<GpuContext> {
    const requiredFeatures = WANTED_FEATURES.filter((name) =>
      adapter.features.has(name),
    ) as GPUFeatureName[];
    const requiredLimits: Record<string, number> = {};
    for (const name of RAISED_LIMITS) requiredLimits[name] = adapter.limits[name];
    try {
      const device = await adapter.requestDevice({
        requiredFeatures,
        requiredLimits,
        label: 'tessera',
      });
      return new GpuContext(gpu, device, adapter.info, profile);
    } catch (cause) {
      throw new TesseraError('device-unavailable', 'The WebGPU adapter refused to give a device.', {
        context: { device: 'wgpu' },
        hints: [
          'An adapter gives one device only: request a new adapter for each call of initWebGpu.',
        ],
        cause,
      });
    }
  }

  /** Calls `listener` when the device is lost, once; soon if it is lost already. Returns what takes it back. */
  onLost(listener: (loss: TesseraError) => void): () => void {
    const { failure, listeners } = this;
    // Each call is an entry of its own, whatever function it brings.
    const entry = (loss: TesseraError): void => listener(loss);
    listeners.add(entry);
    if (!this.disposed && failure?.code === 'device-lost')
      queueMicrotask(() => listeners.delete(entry) && entry(failure));
    return () => void listeners.delete(entry);
  }

  /** Who holds memory of this device: lines for an error. */
  holders(): ReturnType<typeof memoryReport> {
    return memoryReport(
      ({ memory }) => memory instanceof WgpuMemory && memory.pool.context === this,
    );
  }

  private lossOf({ reason, message }: GPUDeviceLostInfo): TesseraError {
    const { largest } = this.holders();
    return new TesseraError(
      'device-lost',
      `The GPU device was lost (${reason}): ${message}${describeHolders({ largest, waiting: null })}`,
      {
        context: { reason, largest },
        hints: [
          'Tensors on the device are gone: call initWebGpu() again and recreate them. Compiled functions go on by themselves.',
        ],
      },
    );
  }

  /** Keeps an error for the next call that can throw; the first one stays, but for one that names its cause. */
  fail(error: TesseraError): void {
    const { failure } = this;
    if (failure?.code === 'device-lost') return;
    // That there was no memory explains what else was rejected.
    if (error.code === 'out-of-memory' && failure?.code === 'gpu-validation') this.failure = error;
    if (failure === null || (failure.code === 'gpu-validation' && failure.cause === undefined))
      this.failure = error;
  }

  /** Runs `make` and keeps what WebGPU says against it, as `explain` puts it; `answered` follows in any case. */
  watch<T>(
    filter: 'validation' | 'out-of-memory' | 'internal',
    make: () => T,
    explain: (error: GPUError) => TesseraError,
    answered: () => void = () => {},
  ): T {
    const { device } = this;
    device.pushErrorScope(filter);
    const made = make();
    const scope: Promise<void> = device
      .popErrorScope()
      .then(
        (error) => {
          if (error === null) return;
          if (filter === 'out-of-memory') this.ranOut = true;
          this.fail(explain(error));
        },
        // The scope of a lost device; the loss is reported by itself.
        () => undefined,
      )
      .finally(() => {
        this.scopes.delete(scope);
        answered();
      });
    this.scopes.add(scope);
    return made;
  }

  /** Throws what went wrong since the last check. A lost device stays lost. */
  check(): void {
    const { failure } = this;
    if (failure === null) return;
    // A consequence of something that a scope is about to explain: that call throws, which sees both.
    if (failure.code === 'gpu-validation' && failure.cause === undefined && this.scopes.size > 0)
      return;
    if (failure.code !== 'device-lost') this.failure = null;
    throw failure;
  }

  /** Like `check`, after everything reported so far has arrived. */
  async settle(): Promise<void> {
    await Promise.all(this.scopes);
    this.check();
  }

  /** Whether the device is gone. */
  get isLost(): boolean {
    return this.disposed || this.failure?.code === 'device-lost';
  }

  /** Gives the device up; later use reports it as lost. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.device.destroy();
    this.failure = new TesseraError('device-lost', 'The WebGPU device was disposed of.', {
      hints: ['Call initWebGpu() again before using device wgpu.'],
    });
  }
}

/** The TesseraError for an error that WebGPU reports; `what` names the kernel or call. */
export function describeError(error: GPUError, what = 'a command'): TesseraError {
  // By name: in Node the error classes are not global.
  if (error.constructor.name === 'GPUOutOfMemoryError') {
    return new TesseraError(
      'out-of-memory',
      `The GPU ran out of memory in ${what}: ${error.message}`,
      {
        hints: ['Dispose of tensors that are no longer needed, or use smaller batches.'],
      },
    );
  }
  return new TesseraError('gpu-validation', `WebGPU rejected ${what}: ${error.message}`, {
    context: { message: error.message },
    hints: [
      'This is a bug of Tessera or of the driver; please report it with TESSERA_LOGS=output_code.',
    ],
  });
}
