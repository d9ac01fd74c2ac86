;; Looks up names and versions of `initial_resource_versions` in the table of a VersionDictionary, which says what lies
;; where in the memory. An entry is known when all its bytes are those of one that was put in: clients share the table, and
;; none may choose what another one is understood to hold. Whatever is new, or is no plain entry, ends it: all that it
;; writes are the results, and the hash of what is new into the empty slot that it found.
;;
;; In WebAssembly because of the hash: 64 bits at a time and without a check of each access it takes a third of what it
;; takes in JavaScript, and this is most of what a client that comes back costs. After a change: `npm run wasm`.
(module
  (memory (import "dictionary" "memory") 0)

  ;; at, end   the bytes to be looked up; there is room to read 16 bytes behind them
  ;; out       where the results go: how many numbers, the address of the slot for the entry that is new or 0, the numbers
  ;; table     where the slots begin
  ;; mask      the bytes of the table - 1, a power of two - 1
  ;; result    where it stopped
  (func (export "lookup")
    (param $at i32) (param $end i32) (param $out i32) (param $table i32) (param $mask i32) (result i32)
    (local $start i32) (local $length i32) (local $entryEnd i32) (local $from i32) (local $number i32)
    (local $next i32) (local $slot i32) (local $probes i32) (local $fresh i32) (local $known i32) (local $left i32)
    (local $one i64) (local $two i64) (local $word i64)
    (local.set $next (i32.add (local.get $out) (i32.const 8)))
    (block $stop
      (loop $entry
        ;; The tag of the field, and a length of one byte.
        (br_if $stop (i32.gt_u (i32.add (local.get $at) (i32.const 2)) (local.get $end)))
        (br_if $stop (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x2a)))
        (local.set $length (i32.load8_u offset=1 (local.get $at)))
        (br_if $stop (i32.gt_u (i32.sub (local.get $length) (i32.const 4)) (i32.const 123)))
        (local.set $start (i32.add (local.get $at) (i32.const 2)))
        (local.set $entryEnd (i32.add (local.get $start) (local.get $length)))
        (br_if $stop (i32.gt_u (local.get $entryEnd) (local.get $end)))
        ;; A name and a version, in this order and to the end.
        (br_if $stop (i32.ne (i32.load8_u (local.get $start)) (i32.const 0x0a)))
        (local.set $from (i32.add (local.get $start) (i32.load8_u offset=1 (local.get $start))))
        (br_if $stop (i32.gt_u (i32.add (local.get $from) (i32.const 4)) (local.get $entryEnd)))
        (br_if $stop (i32.ne (i32.load8_u offset=2 (local.get $from)) (i32.const 0x12)))
        (br_if $stop (i32.ne
          (i32.add (i32.add (local.get $from) (i32.const 4)) (i32.load8_u offset=3 (local.get $from)))
          (local.get $entryEnd)))

        ;; The hash: two lanes side by side. It says where to look, and not what is the same, so it may be a plain one. What
        ;; is left at the beginning is hashed with some bytes a second time.
        (local.set $one (i64.xor (i64.extend_i32_u (local.get $length)) (i64.const 0x510e527fade682d1)))
        (local.set $two (i64.const 0x9b05688c2b3e6c1f))
        (local.set $from (select
          (local.get $start)
          (i32.sub (local.get $entryEnd) (i32.const 16))
          (i32.lt_u (local.get $length) (i32.const 16))))
        (block $hashed
          (loop $stride
            (local.set $word (i64.load (local.get $from)))
            ;; Of what is shorter than a stride, what lies behind it does not count.
            (if (i32.lt_u (local.get $length) (i32.const 8)) (then
              (local.set $word (i64.and (local.get $word)
                (i64.shr_u (i64.const -1) (i64.extend_i32_u (i32.sub (i32.const 64) (i32.shl (local.get $length) (i32.const 3)))))))))
            (local.set $one (i64.rotl
              (i64.mul
                (i64.xor (local.get $one) (local.get $word))
                (i64.const 0xc2b2ae3d27d4eb4f))
              (i64.const 27)))
            (local.set $word (i64.load offset=8 (local.get $from)))
            (if (i32.lt_u (local.get $length) (i32.const 16)) (then
              (local.set $word (select
                (i64.and (local.get $word)
                  (i64.shr_u (i64.const -1) (i64.extend_i32_u (i32.sub (i32.const 128) (i32.shl (local.get $length) (i32.const 3))))))
                (i64.const 0)
                (i32.gt_u (local.get $length) (i32.const 8))))))
            (local.set $two (i64.rotl
              (i64.mul
                (i64.xor (local.get $two) (local.get $word))
                (i64.const 0x9e3779b185ebca87))
              (i64.const 31)))
            (br_if $hashed (i32.eq (local.get $from) (local.get $start)))
            (local.set $from (i32.sub (local.get $from) (i32.const 16)))
            (local.set $from (select
              (local.get $start)
              (local.get $from)
              (i32.lt_s (local.get $from) (local.get $start))))
            (br $stride)))
        (local.set $one (i64.add (local.get $one) (i64.rotl (local.get $two) (i64.const 41))))
        (local.set $one (i64.mul
          (i64.xor (local.get $one) (i64.shr_u (local.get $one) (i64.const 32)))
          (i64.const 0x9fb21c651e98df25)))
        (local.set $one (i64.xor (local.get $one) (i64.shr_u (local.get $one) (i64.const 29))))

        ;; A slot: the hash, the address of the bytes, and the number + 1, or 0 if it is empty.
        (local.set $slot (i32.and (i32.shl (i32.wrap_i64 (local.get $one)) (i32.const 4)) (local.get $mask)))
        (local.set $probes (i32.const 128))
        (block $found
          (loop $probe
            (local.set $from (i32.add (local.get $table) (local.get $slot)))
            (local.set $number (i32.load offset=12 (local.get $from)))
            (if (i32.eqz (local.get $number)) (then
              (i64.store (local.get $from) (local.get $one))
              (local.set $fresh (local.get $from))
              (br $stop)))
            (block $differs
              (br_if $differs (i64.ne (i64.load (local.get $from)) (local.get $one)))
              ;; From the end, as above. The bytes say how long an entry is: it is not compared beside them.
              (local.set $known (i32.load offset=8 (local.get $from)))
              (if (i32.lt_u (local.get $length) (i32.const 8)) (then
                (br_if $differs (i32.ne (i32.load (local.get $known)) (i32.load (local.get $start))))
                (br_if $differs (i32.ne
                  (i32.load (i32.sub (i32.add (local.get $known) (local.get $length)) (i32.const 4)))
                  (i32.load (i32.sub (local.get $entryEnd) (i32.const 4)))))
                (br $found)))
              (if (i32.lt_u (local.get $length) (i32.const 16)) (then
                (br_if $differs (i64.ne (i64.load (local.get $known)) (i64.load (local.get $start))))
                (br_if $differs (i64.ne
                  (i64.load (i32.sub (i32.add (local.get $known) (local.get $length)) (i32.const 8)))
                  (i64.load (i32.sub (local.get $entryEnd) (i32.const 8)))))
                (br $found)))
              (local.set $left (i32.sub (local.get $length) (i32.const 16)))
              (loop $compare
                (br_if $differs (v128.any_true (v128.xor
                  (v128.load (i32.add (local.get $known) (local.get $left)))
                  (v128.load (i32.add (local.get $start) (local.get $left))))))
                (br_if $found (i32.eqz (local.get $left)))
                (local.set $left (select
                  (i32.sub (local.get $left) (i32.const 16))
                  (i32.const 0)
                  (i32.gt_u (local.get $left) (i32.const 16))))
                (br $compare)))
            (local.set $slot (i32.and (i32.add (local.get $slot) (i32.const 16)) (local.get $mask)))
            (br_if $stop (i32.eqz (local.tee $probes (i32.sub (local.get $probes) (i32.const 1)))))
            (br $probe)))
        (i32.store (local.get $next) (i32.sub (local.get $number) (i32.const 1)))
        (local.set $next (i32.add (local.get $next) (i32.const 4)))
        (local.set $at (local.get $entryEnd))
        (br $entry)))
    (i32.store (local.get $out) (i32.shr_u (i32.sub (local.get $next) (i32.add (local.get $out) (i32.const 8))) (i32.const 2)))
    (i32.store offset=4 (local.get $out) (local.get $fresh))
    (local.get $at)))
