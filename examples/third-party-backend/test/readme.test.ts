/**
 * @file The code in the README runs, and prints what it says.
 */
import { testReadme } from '../../../tooling/readme.js';

testReadme(new URL('../README.md', import.meta.url));
