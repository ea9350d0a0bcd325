/**
 * Cards of a machine by the names that Vulkan's device selection understands.
 */
import { expect, test } from 'vitest';
import { primeName } from '../src/distributed/cards.js';

test('addresses of nvidia-smi become names for DRI_PRIME', () => {
  expect(primeName('00000000:3B:00.0')).toBe('pci-0000_3b_00_0');
  expect(primeName('00000001:C4:1F.7')).toBe('pci-0001_c4_1f_7');
});
