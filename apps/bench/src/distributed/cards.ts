/**
 * @file One card for each rank of a machine with several.
 *
 * WebGPU cannot name one of two equal cards: Dawn takes the first that Vulkan lists. Mesa's device-select layer, which
 * also works for other vendors' drivers, puts the card at the PCI address of `DRI_PRIME` first. Before Mesa 23.3 it took
 * the last of the *other* ones: with two cards the ranks swap theirs.
 */
import { spawnSync } from 'node:child_process';

/** What `nvidia-smi` knows of the cards that this process can see: a row for each; none without it. */
function askDriver(fields: string): string[][] {
  const { status, stdout } = spawnSync(
    'nvidia-smi',
    [`--query-gpu=${fields}`, '--format=csv,noheader,nounits'],
    { encoding: 'utf8' },
  );
  if (status !== 0) return [];
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(',').map((field) => field.trim()));
}

/** The name that Mesa gives a card at an address of `nvidia-smi`, as `00000000:3B:00.0`. */
export function primeName(address: string): string {
  return `pci-${address.slice(-12).toLowerCase().replaceAll(/[:.]/g, '_')}`;
}

/**
 * Asks Vulkan for the card of a rank, unless `DRI_PRIME` or the machine leave no choice. Before Dawn is loaded. Returns
 * what `DRI_PRIME` is.
 */
export function chooseCard(rank: number): string | null {
  const cards = askDriver('pci.bus_id');
  if (process.env.DRI_PRIME === undefined && cards.length > 1)
    process.env.DRI_PRIME = primeName(cards[rank % cards.length]![0]!);
  return process.env.DRI_PRIME ?? null;
}

/** Memory in use on each card, by all processes, in MiB: shows whether every rank has its own. */
export function memoryInUse(): { readonly card: string; readonly mib: number }[] {
  return askDriver('pci.bus_id,memory.used').map(([address, mib]) => ({
    card: primeName(address!),
    mib: Number(mib),
  }));
}
