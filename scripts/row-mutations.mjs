/**
 * @file The deliberate faults of `pnpm conformance --mutate`, and the rows that must fall for each.
 *
 * A fault is statements that are inserted behind a piece of text that a source file holds once. They run
 * only in a run of that fault; the sources themselves know nothing of it.
 *
 * A row is named as in the list. `name (device)` is the row on one device alone; `file:name` tells rows of one name
 * apart. Every test of a row that is named must fall.
 */

/**
 * @typedef {{ file: string, after: string, insert: string }} Edit
 * @typedef {{ name: string, edits: Edit[], rows: string[] }} Mutation
 */

/** @type {(name: string, rows: string[], ...edits: [file: string, after: string, insert: string][]) => Mutation} */
const mutation = (name, rows, ...edits) => ({
  name,
  rows,
  edits: edits.map(([file, after, insert]) => ({ file: `packages/${file}`, after, insert })),
});

/** @type {readonly Mutation[]} */
export const MUTATIONS = [
  mutation(
    'CSE is off',
    [
      'test_two_args',
      'test_simple_multiple_same_ops',
      'test_nested_immutable_list_type',
      'test_kwarg',
    ],
    ['passes/src/cse.ts', 'function* cseSteps(module: GraphModule): Steps<number> {', 'return 0;'],
  ),
  mutation(
    'CSE ignores the types of literals',
    ['test_hash_with_numbers'],
    [
      'passes/src/structural-key.ts',
      'export function sameArgument(a: Argument, b: Argument): boolean {',
      "if (typeof a === 'boolean' || typeof b === 'boolean') return Number(a) === Number(b);",
    ],
    [
      'passes/src/structural-key.ts',
      'export function sameLayout(a: Tensor, b: Tensor): boolean {',
      'return true;',
    ],
    [
      'passes/src/structural-key.ts',
      'function hashArgument(hash: number, arg: Argument): number {',
      "if (typeof arg === 'boolean') return hashArgument(hash, Number(arg));",
    ],
  ),
  mutation(
    'CSE ignores the recorded dtype',
    ['test_hash_with_numbers'],
    [
      'passes/src/structural-key.ts',
      'export function sameLayout(a: Tensor, b: Tensor): boolean {',
      'return true;',
    ],
  ),
  mutation(
    'CSE takes -0 for 0',
    ['test_hash_with_numbers'],
    [
      'passes/src/structural-key.ts',
      'export function sameArgument(a: Argument, b: Argument): boolean {',
      'if (a === 0 && b === 0) return true;',
    ],
    [
      'passes/src/structural-key.ts',
      'function hashArgument(hash: number, arg: Argument): number {',
      'if (Object.is(arg, -0)) return hashArgument(hash, 0);',
    ],
  ),
  mutation(
    'conv-bn folding is off',
    [
      'test_folded_conv_bn',
      'test_folded_conv_bn_with_module_sharing',
      'test_folded_conv_functional_bn_with_module_sharing',
    ],
    [
      'passes/src/freezing/conv-bn-folding.ts',
      'export function foldConvBn(module: GraphModule): number {',
      'return 0;',
    ],
  ),
  mutation(
    'conv-bn folding does not look at other users',
    ['test_conv_bn_with_multi_bn_share_conv', 'test_conv_functional_bn_with_multi_bn_share_conv'],
    [
      'passes/src/freezing/conv-bn-folding.ts',
      'function foldableConvolution(bn: Node): Node | null {',
      'const first = bn.args?.[0]; if (first?.target === findOp(CONVOLUTION)) Object.defineProperty(first, "users", { value: new Map([[bn, 1]]) });',
    ],
  ),
  mutation(
    'plain tensors are frozen and parameters are not',
    [
      'test_folded_conv_bn_with_module_sharing',
      'test_folded_conv_functional_bn_with_module_sharing',
    ],
    [
      'nn/src/module/module-state.ts',
      'export function isModuleState(tensor: Tensor): boolean {',
      'return !(tensor instanceof Parameter || buffers.has(tensor));',
    ],
  ),
  mutation(
    'layout propagation is off',
    [
      'test_conv_with_as_strided',
      'test_redundant_clone_for_layout_convert',
      'test_conv_layout_convert_with_view',
      'test_2conv_with_graph_break (cpu)',
      'test_3conv_with_graph_break (cpu)',
      'test_training_acc (cpu)',
    ],
    [
      'passes/src/layout-propagation.ts',
      'export function propagateLayouts(module: GraphModule): number {',
      'return 0;',
    ],
  ),
  mutation(
    'views that count from the storage count in the new layout',
    ['test_conv_with_as_strided'],
    [
      'passes/src/layout-propagation.ts',
      'function isFree(op: OpOverload): boolean {',
      "if (op.schema.name === 'as_strided') return true;",
    ],
  ),
  mutation(
    'output strides are not restored',
    [
      'test_redundant_clone_for_layout_convert',
      'test_conv_weight_layout_convert',
      'test_keep_output_layout_with_freezing',
      'test_2conv_with_graph_break (cpu)',
    ],
    [
      'passes/src/layout-propagation.ts',
      '  for (const value of output.allInputNodes()) {',
      'break;',
    ],
  ),
  mutation(
    'a backward leaves its node behind',
    ['test_split_with_sizes_aot_autograd_cleans_up_traceback_meta'],
    [
      'tensor/src/autograd/current-backward-node.ts',
      '  } finally {\n    current = saved;',
      'current = node;',
    ],
  ),
  mutation(
    'backward nodes carry no sequence numbers',
    ['test_split_with_sizes_aot_autograd_cleans_up_traceback_meta', 'test_aot_sequence_nr'],
    [
      'tensor/src/autograd/current-backward-node.ts',
      'export function currentBackwardNode(): GradNode | null {',
      'return null;',
    ],
  ),
  mutation(
    'compile is the identity',
    [
      'test_hash_with_numbers',
      'test_autocast',
      'test_cpp_wrapper',
      'test_symint_not_folded',
      'test_conv_with_as_strided',
      'test_conv_functional_bn_with_multi_bn_share_conv',
      'test_call_fn_with_non_const_inputs_aot_unsafe_control_flow',
      'test_aot_sequence_nr',
      'test_alias_inputs',
      'test_2conv_with_graph_break',
      'test_mutate_view_for_conv_output',
    ],
    [
      'compile/src/compile.ts',
      'export function compile(target: Compilable, options: CompileOptions = {}): AnyFunction {',
      'const plain = callableOf(target); return (...args) => plain.fn.apply(plain.self, args);',
    ],
  ),
  mutation(
    'memoryEfficientFusion is the identity',
    [
      'test_gelu_bias',
      'test_mish',
      'test_swish',
      'test_hard_sigmoid',
      'test_hard_swish',
      'test_hard_mish',
      'test_layer_norm',
      'test_rmsnorm (wgpu)',
    ],
    [
      'compile/src/memory-efficient-fusion.ts',
      'const all: AotOptions = { fwCompiler: compileFxInner, ...options };',
      "return typeof target === 'function' ? target : (...args) => target.call(...args);",
    ],
  ),
  mutation(
    'memoryEfficientFusion saves what the forward made',
    [
      'test_gelu_bias',
      'test_mish',
      'test_swish',
      'test_hard_sigmoid',
      'test_hard_swish',
      'test_hard_mish',
      'test_layer_norm',
      'test_rmsnorm (wgpu)',
    ],
    [
      'aot-autograd/src/memory-efficient-fusion.ts',
      'const all: AotOptions = { partitionFn: minCutRematerializationPartition, ...options };',
      'Object.assign(all, { partitionFn: options.partitionFn });',
    ],
  ),
  mutation(
    'min-cut saves everything',
    ['test_gelu_bias', 'test_mish', 'test_swish', 'test_layer_norm', 'test_rmsnorm (wgpu)'],
    [
      'aot-autograd/src/partition/recompute-kind.ts',
      'export function recomputeKind(node: Node): RecomputeKind {',
      "if (node.op === 'call_function') return 'never';",
    ],
  ),
  mutation(
    'loops are not fused',
    ['test_layer_norm', 'test_rmsnorm (wgpu)'],
    [
      'inductor-core/src/fuse/fuse-loops.ts',
      'export function fuseLoops(context: FusionContext, a: LoopGroup, b: LoopGroup): LoopGroup | null {',
      'return null;',
    ],
  ),
  mutation(
    'CSE merges random operators',
    ['test_rand_like', 'test_rand_n'],
    [
      'passes/src/cse.ts',
      'function isCandidate(node: Node, sets: AliasSets): boolean {',
      "if (typeof node.target === 'object' && node.target.hasTag('random')) return true;",
    ],
  ),
  mutation(
    'CSE does not look at arguments',
    ['test_nochange', 'test_two_args', 'test_random'],
    [
      'passes/src/structural-key.ts',
      'export function sameCall(a: Node, b: Node): boolean {',
      'return a.target === b.target;',
    ],
    ['passes/src/structural-key.ts', 'export function hashCall(node: Node): number {', 'return 0;'],
  ),
  mutation(
    'CSE counts one too many',
    ['test_empty', 'test_nochange'],
    [
      'passes/src/cse.ts',
      'function* cseSteps(module: GraphModule): Steps<number> {\n  const sets = new AliasSets(module.graph);',
      'return 1;',
    ],
  ),
  mutation(
    'custom passes are not called',
    [
      'test_custom_joint_pass_pre',
      'test_custom_joint_pass_post',
      'test_custom_pre_pass',
      'test_custom_post_pass',
      'test_custom_pre_grad_pass',
    ],
    ['passes/src/custom-pass.ts', '      run(module) {', 'return false;'],
  ),
  mutation(
    'constant folding is off',
    ['test_autocast'],
    [
      'passes/src/constant-folding.ts',
      'export function foldConstants(module: GraphModule, options: ConstantFoldingOptions = {}): number {',
      'return 0;',
    ],
  ),
  mutation(
    'frozen parameters are kept',
    ['test_error_on_eager', 'test_param_deallocated'],
    [
      'passes/src/freezing/discard.ts',
      'export function requestDiscard(tensor: Tensor, name: string, listener: OnDiscard): void {',
      'return;',
    ],
  ),
  mutation(
    'parameters that are returned are discarded',
    ['test_aliased_param_return'],
    [
      'passes/src/freezing/freeze-inputs.ts',
      '  const sets = new AliasSets(module.graph);',
      'return inputs.flatMap((value, i) => (isTensor(value) && isConstant(value) ? [i] : []));',
    ],
    [
      'passes/src/freezing/frozen-function.ts',
      '    const { name, meta } = placeholders[input.position]!;',
      'meta.returned = false;',
    ],
  ),
  mutation(
    'parameters that are written are frozen',
    ['freezing:test_mutation'],
    [
      'passes/src/freezing/freeze-inputs.ts',
      '  const sets = new AliasSets(module.graph);',
      'return inputs.flatMap((value, i) => (isTensor(value) && isConstant(value) ? [i] : []));',
    ],
  ),
  mutation(
    'random numbers are folded',
    ['test_rng_op'],
    [
      'passes/src/constant-folding.ts',
      'const { maxElements = 2 ** 22, isConstant = () => true } = options;',
      "for (const node of [...module.graph.nodes]) if (node.target?.hasTag?.('random')) { const path = module.addAttribute('_folded', withoutModes(() => callOp(node.target, [...node.args]))); const constant = module.graph.insertingBefore(node, () => module.graph.getAttr(path)); constant.meta = { ...node.meta }; node.replaceAllUsesWith(constant); }",
    ],
  ),
  mutation(
    'frozen constants have other values',
    ['test_unfolded_bn', 'test_conv_multiple_uses', 'test_unequal_bias_horizontal_addmm_fusion'],
    [
      'passes/src/freezing/freeze-inputs.ts',
      'function alias(tensor: Tensor): Tensor {',
      'if (tensor.dtype === "float32") return tensor.detach().add(1);',
    ],
  ),
  mutation(
    'what comes behind a half convolution is folded into its weight',
    ['test_dont_change_dtype_folding'],
    [
      'passes/src/freezing/conv-binary-folding.ts',
      'function isFoldable(node: Node, conv: Node, operand: Argument, kind: Kind): boolean {',
      "return kind === 'mul' && conv.args[1].op === 'get_attr';",
    ],
  ),
  mutation(
    'convolutions are not laid out anew',
    [
      'test_3conv_with_graph_break (cpu)',
      'test_training_acc (cpu)',
      'test_mutate_base_for_conv_output (cpu)',
      'test_conv_weight_layout_convert',
      'test_conv_with_as_strided',
      'test_redundant_clone_for_layout_convert',
    ],
    [
      'passes/src/layout-optimization.ts',
      'function prefersChannelsLast(use: LayoutUse, device: DeviceType): boolean {',
      'return false;',
    ],
  ),
  mutation(
    'the native wrapper is ignored',
    ['test_cpp_wrapper (cpu)'],
    [
      'compile/src/native-wrapper.ts',
      "export function checkNative(graph: Pick<CompiledGraph, 'plan'>): void {",
      'return;',
    ],
  ),
  mutation(
    'packed convolutions have no lowering',
    ['test_folded_conv_bn', 'test_conv_layout_convert_with_view', 'test_dont_change_dtype_folding'],
    [
      'inductor-core/src/lower/find-lowering.ts',
      'export function findLowering(op: string): LoweringFn | undefined {',
      "if (op === 'tessera::convolution_pointwise') return undefined;",
    ],
  ),
  mutation(
    'gradients are not reduced over the ranks',
    ['the model rows wrapped in DistributedDataParallel, a one-process group (cpu)'],
    ['distributed/src/ddp/reducer.ts', 'private get isActive(): boolean {', 'return false;'],
  ),
  mutation(
    'graph breaks are ignored',
    [
      'test_2conv_with_graph_break',
      'test_3conv_with_graph_break',
      'test_training_acc',
      'test_double_backward_errors',
      'test_eager_sequence_nr',
    ],
    ['dynamo-trace/src/control.ts', 'export function graphBreak(): void {', 'return;'],
  ),
  mutation(
    'updates of inputs are lost',
    [
      'aot-autograd:test_mutation',
      'test_mutation1',
      'test_mutate_view',
      'test_mutate_base',
      'test_aot_autograd_expand_mutation_functionalizes',
      'test_aot_autograd_expand_mutation_backwards',
      'test_call_fn_with_non_const_inputs_aot_unsafe',
    ],
    [
      'aot-autograd/src/functionalize/epilogue.ts',
      'export function writeBack(emitter: Emitter, written: readonly Value[]): void {',
      'return;',
    ],
  ),
  mutation(
    'leaves that require grad may be written',
    ['test_aot_autograd_raises_invalid_leaf_set'],
    [
      'tensor/src/autograd/record.ts',
      'export function checkInPlaceLeaf(self: Tensor): void {',
      'return;',
    ],
  ),
  mutation(
    'fakes may be read',
    [
      'test_data_ptr_access_copy',
      'test_data_ptr_access_fails_in_forward',
      'test_data_ptr_access_fails_in_backward',
    ],
    [
      'tensor/src/memory/storage.ts',
      '  assertReadable(what: string, writes = false): void {',
      'return;',
    ],
  ),
  mutation(
    'duplicate arguments are not guarded',
    [
      'test_arg_dupe_via_dynamo_recompiles',
      'test_arg_dupe_via_dynamo_recompiles_many_args',
      'test_arg_dupe_via_dynamo_recompiles_many_args_param',
      'test_arg_dupe_via_dynamo_recompiles_many_args_param_non_tensor_arg',
      'test_arg_dupe_via_dynamo_recompiles_many_args_param_non_tensor_arg_list',
      'test_arg_dupe_via_dynamo_recompiles_many_with_global',
    ],
    ['dynamo-trace/src/guards/entry-guards.ts', '  private duplicates(): Guard[] {', 'return [];'],
  ),
  mutation(
    'whether gradients are required is not guarded',
    ['test_requires_grad_fake_via_dynamo_recompiles'],
    [
      'dynamo-trace/src/guards/tensor-guard.ts',
      'if (tensor.dtype !== this.dtype || tensor.device !== this.device) return false;',
      'if (sameNumbers(tensor.sizes, this.sizes)) return true;',
    ],
  ),
  mutation(
    'backward nodes have the numbers of their neighbours',
    ['test_aot_sequence_nr', 'test_split_with_sizes_aot_autograd_cleans_up_traceback_meta'],
    [
      'graph/src/trace/trace-recorder.ts',
      '    const backward = currentBackwardNode();',
      'if (backward !== null) return { originalAten: originalAten ?? op, seqNr: backward.sequenceNr + 1, isBackward: true };',
    ],
  ),
  mutation(
    'sizes are never taken to vary',
    ['test_dynamic_shape_specialization', 'test_symint_not_folded'],
    [
      'compile/src/compile.ts',
      '  checkCompileOptions(options);',
      'options = { ...options, dynamic: false };',
    ],
  ),
  mutation(
    'results have the layout that code prefers',
    ['test_keep_output_layout_infer', 'test_keep_output_layout_with_freezing'],
    [
      'inductor-core/src/lower/outputs.ts',
      'function outputBuffer(l: Lowering, value: LoweredTensor, strides: Shape): IrBuffer {',
      '(strides as Size[]).splice(0, strides.length, ...strides.map((_, d) => value.sizes.slice(0, d).reduce((a, b) => a * b, 1)));',
    ],
  ),
  mutation(
    'graphs that run op by op compute something else',
    [
      'test_LSTM',
      'test_negative_testing',
      'test_negative_testing_mutation',
      'test_call_fn_with_non_const_inputs_aot_safe',
      'test_nn_parameter_construction',
      'test_multiple_aot_autograd_calls_dupe_args',
    ],
    [
      'aot-autograd/src/graph-compiler.ts',
      'export function runEagerly(module: GraphModule): CompiledGraph {',
      'return (inputs) => module.forward(...inputs).map((value) => (value?.dtype === undefined ? value : value.add(1)));',
    ],
  ),
  mutation(
    'views that are returned have memory of their own',
    ['test_alias_inputs'],
    [
      'aot-autograd/src/runtime/runtime-wrapper.ts',
      'function view(base: Tensor, plan: AliasPlan): Tensor {',
      'base = withoutModes(() => base.clone());',
    ],
  ),
  mutation(
    'fakes that overlap themselves may be written',
    ['test_aot_autograd_expand_mutation_error'],
    [
      'tensor/src/dispatch/check-in-place.ts',
      'const rank = { bool: 0, integral: 1, floating: 2 };',
      "if (self.storage.state !== 'real') return;",
    ],
  ),
  mutation(
    'exports are joint graphs whatever was asked for',
    ['test_aot_export_joint_simple_repro'],
    [
      'aot-autograd/src/aot-export.ts',
      'const isJoint = options.traceJoint ?? true;',
      'if (!isJoint) return aotExportJointSimple(program, examples, { traceJoint: true });',
    ],
  ),
  mutation(
    'graphs do not switch grad mode',
    ['test_aot_grad_mode_mutation', 'test_call_fn_with_non_const_inputs_aot_unsafe'],
    [
      'dynamo-trace/src/cursor/segment-builder.ts',
      'switchGradMode(enabled: boolean): void {',
      'this.gradMode = enabled;',
    ],
  ),
  mutation(
    'calls are taken to go the way of the first one',
    ['test_call_fn_with_non_const_inputs_aot_unsafe_control_flow'],
    [
      'dynamo-trace/src/events/operator.ts',
      '  match(cursor, { op, args }) {',
      "for (const step of lookThrough(cursor.at)) if (step.kind === 'op') return acceptOperator(cursor, step, args);",
    ],
  ),
  mutation(
    "gradients that are inputs become the leaf's own",
    ['test_grad_inputs_alias_inputs'],
    [
      'aot-autograd/src/runtime/compiled-backward.ts',
      'const value = saved[source.index] as Tensor;',
      'return value;',
    ],
  ),
  mutation(
    'writes through views stay in the view',
    ['test_mutate_view_for_conv_output', 'test_mutate_view'],
    [
      'aot-autograd/src/functionalize/memory.ts',
      'export function write(value: Value, node: Node, emitter: Emitter): void {',
      'if (value.view !== null) return value.refresh(node);',
    ],
  ),
  mutation(
    'views keep what they showed before a write',
    ['test_aot_autograd_expand_mutation_backwards'],
    [
      'aot-autograd/src/functionalize/memory.ts',
      'export function read(value: Value, emitter: Emitter): Node {',
      'return value.node;',
    ],
  ),
  mutation(
    'memory keeps what it held before a write to the whole of it',
    ['test_mutate_base_for_conv_output'],
    [
      'aot-autograd/src/functionalize/memory.ts',
      'export function write(value: Value, node: Node, emitter: Emitter): void {',
      'if (value.view === null) return;',
    ],
  ),
  mutation(
    'what kernels compute is one too large',
    [
      'test_nll_loss_backward (cpu)',
      'test_2conv_with_graph_break (cpu)',
      'test_3conv_with_graph_break (cpu)',
      'test_training_acc (cpu)',
      'test_mutate_base_for_conv_output',
      'test_mutate_view_for_conv_output',
    ],
    [
      'inductor-core/src/lower/outputs.ts',
      'function outputBuffer(l: Lowering, value: LoweredTensor, strides: Shape): IrBuffer {',
      "return l.storeValue(l.ir.op('add', [value.expr, l.ir.const(value.dtype, 1)]), value.dtype, value.shape, strides);",
    ],
  ),
];
