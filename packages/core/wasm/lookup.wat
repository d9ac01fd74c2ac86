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
  ;; notes     384 bytes to write to
  ;; table     where the slots begin
  ;; mask      the bytes of the table - 1, a power of two - 1
  ;; result    where it stopped
  (func (export "lookup")
    (param $at i32) (param $end i32) (param $out i32) (param $notes i32) (param $table i32) (param $mask i32) (result i32)
    (local $start i32) (local $length i32) (local $entryEnd i32) (local $from i32) (local $hash i32)
    (local $next i32) (local $slot i32) (local $probes i32) (local $fresh i32) (local $known i32) (local $left i32)
    (local $unlike v128)
    (local $one i64) (local $two i64) (local $word i64)
    (local $read i32) (local $group i32) (local $note i32) (local $notesEnd i32) (local $touched i32)
    (local.set $next (i32.add (local.get $out) (i32.const 8)))
    (local.set $group (i32.const 12))
    (block $stop
      (loop $more
        ;; Memory has the entries in another order, so each one waits for it, for its slot and for its bytes. A group waits
        ;; together: what all of it needs is touched before the first is compared. A note for each: where it starts, the
        ;; address of its slot, and its hash.
        (local.set $read (local.get $at))
        (local.set $note (local.get $notes))
        (local.set $notesEnd (i32.add (local.get $notes) (local.get $group)))
        (block $noted
          (loop $entry
            ;; The tag of the field, and a length of one byte.
            (br_if $noted (i32.gt_u (i32.add (local.get $read) (i32.const 2)) (local.get $end)))
            (br_if $noted (i32.ne (i32.load8_u (local.get $read)) (i32.const 0x2a)))
            (local.set $length (i32.load8_u offset=1 (local.get $read)))
            (br_if $noted (i32.gt_u (i32.sub (local.get $length) (i32.const 4)) (i32.const 123)))
            (local.set $start (i32.add (local.get $read) (i32.const 2)))
            (local.set $entryEnd (i32.add (local.get $start) (local.get $length)))
            (br_if $noted (i32.gt_u (local.get $entryEnd) (local.get $end)))
            ;; A name and a version, in this order and to the end.
            (br_if $noted (i32.ne (i32.load8_u (local.get $start)) (i32.const 0x0a)))
            (local.set $from (i32.add (local.get $start) (i32.load8_u offset=1 (local.get $start))))
            (br_if $noted (i32.gt_u (i32.add (local.get $from) (i32.const 4)) (local.get $entryEnd)))
            (br_if $noted (i32.ne (i32.load8_u offset=2 (local.get $from)) (i32.const 0x12)))
            (br_if $noted (i32.ne
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
            (local.set $slot (i32.add (local.get $table)
              (i32.and (i32.shl (i32.wrap_i64 (local.get $one)) (i32.const 3)) (local.get $mask))))
            (i32.store (local.get $note) (local.get $start))
            (i32.store offset=4 (local.get $note) (local.get $slot))
            (i32.store offset=8 (local.get $note) (i32.wrap_i64 (local.get $one)))
            (local.set $touched (i32.add (local.get $touched) (i32.load offset=4 (local.get $slot))))
            (local.set $note (i32.add (local.get $note) (i32.const 12)))
            (local.set $read (local.get $entryEnd))
            (br_if $entry (i32.lt_u (local.get $note) (local.get $notesEnd)))))
        (br_if $stop (i32.eq (local.get $note) (local.get $notes)))
        (local.set $notesEnd (local.get $note))
        (local.set $note (local.get $notes))
        (loop $touch
          (local.set $known (i32.load offset=4 (i32.load offset=4 (local.get $note))))
          (local.set $touched (i32.add (local.get $touched) (i32.add
            (i32.load8_u (local.get $known))
            (i32.load8_u (i32.add (local.get $known) (i32.load8_u (i32.sub (i32.load (local.get $note)) (i32.const 1))))))))
          (local.set $note (i32.add (local.get $note) (i32.const 12)))
          (br_if $touch (i32.lt_u (local.get $note) (local.get $notesEnd))))
        (i32.store offset=4 (local.get $out) (local.get $touched))

        (local.set $note (local.get $notes))
        (loop $compared
          (local.set $start (i32.load (local.get $note)))
          (local.set $from (i32.load offset=4 (local.get $note)))
          (local.set $hash (i32.load offset=8 (local.get $note)))
          (local.set $length (i32.load8_u (i32.sub (local.get $start) (i32.const 1))))
          (local.set $entryEnd (i32.add (local.get $start) (local.get $length)))
          (local.set $at (i32.sub (local.get $start) (i32.const 2)))
          ;; A slot: half of the hash, and the address of the bytes, or 0 if it is empty. The number stands before the bytes.
          (local.set $probes (i32.const 128))
          (block $found
            (loop $probe
              (local.set $known (i32.load offset=4 (local.get $from)))
              (if (i32.eqz (local.get $known)) (then
                (i32.store (local.get $from) (local.get $hash))
                (local.set $fresh (local.get $from))
                (br $stop)))
              (block $differs
                (br_if $differs (i32.ne (i32.load (local.get $from)) (local.get $hash)))
                ;; From the end, as above. The bytes say how long an entry is: it is not compared beside them.
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
                ;; Sixteen bytes at a time from both ends, some of them twice.
                (local.set $left (i32.add (local.get $known) (local.get $length)))
                (local.set $unlike (v128.or
                  (v128.xor (v128.load (local.get $known)) (v128.load (local.get $start)))
                  (v128.xor (v128.load (i32.sub (local.get $left) (i32.const 16))) (v128.load (i32.sub (local.get $entryEnd) (i32.const 16))))))
                (if (i32.gt_u (local.get $length) (i32.const 32)) (then
                  (local.set $unlike (v128.or (local.get $unlike) (v128.or
                    (v128.xor (v128.load offset=16 (local.get $known)) (v128.load offset=16 (local.get $start)))
                    (v128.xor (v128.load (i32.sub (local.get $left) (i32.const 32))) (v128.load (i32.sub (local.get $entryEnd) (i32.const 32)))))))
                  (if (i32.gt_u (local.get $length) (i32.const 64)) (then
                    (local.set $unlike (v128.or (local.get $unlike) (v128.or
                      (v128.or
                        (v128.xor (v128.load offset=32 (local.get $known)) (v128.load offset=32 (local.get $start)))
                        (v128.xor (v128.load offset=48 (local.get $known)) (v128.load offset=48 (local.get $start))))
                      (v128.or
                        (v128.xor (v128.load (i32.sub (local.get $left) (i32.const 48))) (v128.load (i32.sub (local.get $entryEnd) (i32.const 48))))
                        (v128.xor (v128.load (i32.sub (local.get $left) (i32.const 64))) (v128.load (i32.sub (local.get $entryEnd) (i32.const 64))))))))))))
                (br_if $found (i32.eqz (v128.any_true (local.get $unlike)))))
              (local.set $from (i32.add (local.get $table)
                (i32.and (i32.add (i32.sub (local.get $from) (local.get $table)) (i32.const 8)) (local.get $mask))))
              (br_if $stop (i32.eqz (local.tee $probes (i32.sub (local.get $probes) (i32.const 1)))))
              (br $probe)))
          (i32.store (local.get $next) (i32.load (i32.sub (local.get $known) (i32.const 4))))
          (local.set $next (i32.add (local.get $next) (i32.const 4)))
          (local.set $at (local.get $entryEnd))
          (local.set $note (i32.add (local.get $note) (i32.const 12)))
          (br_if $compared (i32.lt_u (local.get $note) (local.get $notesEnd))))
        ;; The groups grow: behind what is new all is read again.
        (local.set $group (select
          (i32.const 384)
          (i32.shl (local.get $group) (i32.const 1))
          (i32.gt_u (local.get $group) (i32.const 192))))
        (br $more)))
    (i32.store (local.get $out) (i32.shr_u (i32.sub (local.get $next) (i32.add (local.get $out) (i32.const 8))) (i32.const 2)))
    (i32.store offset=4 (local.get $out) (local.get $fresh))
    (local.get $at)))
