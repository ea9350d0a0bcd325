/**
 * @file `@tessera/compile` in Node: the same names, and what writes compilations down. Pages have no files to write, so
 * bundles for browsers have none of it. Code that pages ask for is here from the start.
 */
import { useBoundedKeys, useHistograms } from '@tessera/inductor-core';
import {
  useBlockedAttention,
  useFourier,
  useNarrowWeights,
  useSelection,
  useSorting,
  useWebAssemblyText,
} from '@tessera/inductor-cpu';
import { useDistributions, useLinearAlgebra, useSubgroupMatrices } from '@tessera/inductor-wgsl';
import { useFreezing } from '@tessera/passes';
import './debug/debug-folder.js';
import './schedule-log.js';

useBlockedAttention();
useBoundedKeys();
useFourier();
useNarrowWeights();
useSelection();
useSorting();
useWebAssemblyText();
useFreezing();
useSubgroupMatrices();
useLinearAlgebra();
useDistributions();
useHistograms();

export * from './index.js';
