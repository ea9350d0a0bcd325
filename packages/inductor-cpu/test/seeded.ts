/**
 * @file Set-up of the tests: each file draws the numbers that it would draw alone, though files share the process.
 */
import { manualSeed } from '@tessera/tensor';

manualSeed(0);
