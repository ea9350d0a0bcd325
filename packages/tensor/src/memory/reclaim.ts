/**
 * @file Returning memory of unreachable storages to their devices.
 *
 * Every allocation is listed with a `WeakRef`. The safety net is an object that dies with the next collection
 * and whose `FinalizationRegistry` then looks through the list: registering each storage would cost as much
 * as the rest of a small operator. Its callbacks run only between tasks, and a synchronous training loop
 * would never see one: when enough has been allocated since the last sweep the reclaimer forces a collection
 * (Node only) and frees what died. Evaluating an empty script in a context with its own microtask queue makes V8
 * forget the references that the current job keeps alive; without that, no WeakRef made in this job
 * could die. A sweep takes some 3 ms, and 12 to 20 ms with the JavaScript heap of a program that compiles.
 */
import { cpuHeap } from '../heap/cpu-heap.js';
import { type DeviceType, deviceRuntime } from '../device.js';
import { type MemoryReport, setOutOfMemoryReport, setPressureHook } from '../heap/heap-hooks.js';
import { formatBytes } from '../heap/out-of-memory.js';
import { keepObjectsYoung, nodeCollector } from './node-gc.js';
import type { Storage } from './storage.js';

/** One live allocation: enough to free it without the storage object. */
export interface Allocation {
  readonly ref: WeakRef<Storage>;
  readonly device: DeviceType;
  readonly ptr: number;
  readonly memory: object | null;
  readonly nbytes: number;
  /** Collections that had been noticed when it was made. */
  readonly era: number;
  freed: boolean;
}

/** Bytes more than after the last sweep that trigger the next one: this floor, or half of what is live. */
const PRESSURE_FLOOR_BYTES = 256 * 1024 * 1024;
/** Bytes that may be dead when a load begins. */
const LOADING_FLOOR_BYTES = 64 * 1024 * 1024;
const PRESSURE_ALLOCATIONS = 50_000;
/** Where no collection can be forced: bytes allocated that the engine is told of at once. */
const PRESS_BYTES = 8 * 1024 * 1024;

const live = new Set<Allocation>();
let liveBytes = 0;
/** What was left by the last sweep, of which less may be there by now: what was given back is nothing that one could find. */
let sweptBytes = 0;
let sweptCount = 0;
let bytesSincePress = 0;
/** Undefined until the first sweep asks the host for one. */
let forceCollection: (() => void) | null | undefined;

/** Collections after which the list is looked through however little was allocated. */
const PATIENCE = 16;
let allocationsSinceLook = 0;
let collectionsSinceLook = 0;
/** Collections noticed so far. */
let collectionCount = 0;
let watching = false;

const collections = new FinalizationRegistry<null>(() => {
  collectionCount++;
  collectionsSinceLook++;
  // Looking costs time for every live allocation: not at every collection of a program that holds many.
  if (2 * allocationsSinceLook >= live.size || collectionsSinceLook >= PATIENCE) freeDead();
  watchCollections();
});

function watchCollections(): void {
  watching = true;
  collections.register({}, null);
}

function freeDead(): void {
  allocationsSinceLook = 0;
  collectionsSinceLook = 0;
  for (const allocation of live)
    if (allocation.ref.deref() === undefined) freeAllocation(allocation);
}

/** Starts watching a storage's memory. */
export function trackAllocation(storage: Storage): Allocation {
  const allocation: Allocation = {
    ref: new WeakRef(storage),
    device: storage.device,
    ptr: storage.ptr,
    memory: storage.memory,
    nbytes: storage.nbytes,
    era: collectionCount,
    freed: false,
  };
  if (!watching) {
    keepObjectsYoung();
    watchCollections();
  }
  live.add(allocation);
  liveBytes += storage.nbytes;
  bytesSincePress += storage.nbytes;
  if (bytesSincePress >= PRESS_BYTES) pressEngine();
  allocationsSinceLook++;
  return allocation;
}

/** Stops watching: the owner freed the memory itself. */
export function untrackAllocation(allocation: Allocation): void {
  if (allocation.freed) return;
  allocation.freed = true;
  live.delete(allocation);
  liveBytes -= allocation.nbytes;
  sweptBytes = Math.min(sweptBytes, liveBytes);
  sweptCount = Math.min(sweptCount, live.size);
}

function freeAllocation(allocation: Allocation): void {
  if (allocation.freed) return;
  untrackAllocation(allocation);
  if (allocation.device === 'cpu') cpuHeap().free(allocation.ptr);
  else if (allocation.memory !== null) deviceRuntime(allocation.device).free(allocation.memory);
}

/** Sweeps if enough was allocated since the last time. Called before an allocation. */
export function reclaimUnderPressure(): void {
  if (
    live.size - sweptCount < PRESSURE_ALLOCATIONS &&
    liveBytes - sweptBytes < Math.max(PRESSURE_FLOOR_BYTES, liveBytes / 2)
  )
    return;
  reclaimNow();
}

/** Sweeps if the dead may be many: to be called by what is about to make much that stays, and whose peak is promised. */
export function reclaimBeforeLoading(): void {
  if (liveBytes - sweptBytes >= LOADING_FLOOR_BYTES) reclaimNow();
}

/** Collects garbage if the host allows it and frees the memory of dead storages. Returns bytes freed. */
export function reclaimNow(): number {
  const before = liveBytes;
  const collect = collector();
  if (collect !== null) {
    collect();
    freeDead();
  }
  sweptBytes = liveBytes;
  sweptCount = live.size;
  return before - liveBytes;
}

/** Forces a collection; null where the host offers none. */
function collector(): (() => void) | null {
  if (!mayForce) return null;
  if (forceCollection === undefined) forceCollection = nodeCollector();
  return forceCollection;
}

/** What the engine was given last; what it was given before is garbage. */
const ballast: { last: ArrayBuffer | null } = { last: null };

/**
 * Makes garbage that the engine counts. It does not know how much memory tensors hold, and would not collect in
 * time between the tasks of a page. The buffer is never touched, so it takes no memory of its own.
 */
function pressEngine(): void {
  if (collector() === null) ballast.last = new ArrayBuffer(bytesSincePress);
  bytesSincePress = 0;
}

let mayForce = true;

/** Runs code as in a host that cannot force a collection (a browser): for tests and measurements. */
export function withoutForcedCollection<R>(fn: () => R): R {
  const before = mayForce;
  mayForce = false;
  try {
    return fn();
  } finally {
    mayForce = before;
  }
}

/** Live bytes over all devices, counting storages that are unreachable but not yet collected. */
export function liveStorageBytes(): number {
  return liveBytes;
}

/** Live storages, largest first; for out-of-memory reports. */
export function largestStorages(count: number): Storage[] {
  const storages: Storage[] = [];
  for (const allocation of live) {
    const storage = allocation.ref.deref();
    if (storage !== undefined) storages.push(storage);
  }
  return storages.sort((a, b) => b.nbytes - a.nbytes).slice(0, count);
}

setPressureHook((urgent) => {
  if (urgent) reclaimNow();
  else reclaimUnderPressure();
});

/** The live storage on a device's memory, or null. */
export function storageOn(memory: object): Storage | null {
  for (const allocation of live)
    if (allocation.memory === memory) return allocation.ref.deref() ?? null;
  return null;
}

/** `float32[2, 3] on wgpu`: what a storage was made for. */
export function describeStorage({ madeForDtype, madeForSizes, device }: Storage): string {
  const known = madeForDtype !== null && madeForSizes !== null;
  return `${known ? `${madeForDtype}[${madeForSizes.join(', ')}]` : 'memory'} on ${device}`;
}

/** Live storages of one type and shape in a line, those that hold most first; `counts` chooses among them. */
function largestKinds(count: number, counts: (storage: Storage) => boolean): string[] {
  const kinds = new Map<string, { count: number; bytes: number }>();
  for (const { ref, nbytes } of live) {
    const storage = ref.deref();
    if (storage === undefined || !counts(storage)) continue;
    const name = describeStorage(storage);
    const kind = kinds.get(name) ?? { count: 0, bytes: 0 };
    kinds.set(name, { count: kind.count + 1, bytes: kind.bytes + nbytes });
  }
  return [...kinds]
    .sort(([, a], [, b]) => b.bytes - a.bytes)
    .slice(0, count)
    .map(([name, kind]) => {
      const prefix = kind.count === 1 ? '' : `${kind.count} × `;
      return `${prefix}${name}: ${formatBytes(kind.bytes)}`;
    });
}

/** What no collection has looked at since it was made. After a forced one, what is left is in use. */
function waitingForCollection(counts: (storage: Storage) => boolean): MemoryReport['waiting'] {
  if (collector() !== null) return null;
  const young = [...live].filter(({ era, ref }) => {
    const storage = ref.deref();
    return era === collectionCount && (storage === undefined || counts(storage));
  });
  const bytes = young.reduce((sum, { nbytes }) => sum + nbytes, 0);
  return { bytes, tensors: young.length };
}

/** Who holds memory, among the storages that `counts` chooses: for the errors of a device. */
export function memoryReport(counts: (storage: Storage) => boolean = () => true): MemoryReport {
  return { largest: largestKinds(5, counts), waiting: waitingForCollection(counts) };
}

setOutOfMemoryReport(memoryReport);
