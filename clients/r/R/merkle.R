# Merkle trees with SHA-256: RFC 6962, and the algorithms of RFC 9162, section 2.1.

forked <- "The log does not extend the earlier checkpoint."

sha256 <- function(bytes) {
  hash <- openssl::sha256(bytes)
  as.raw(unclass(hash))
}

# A leaf is an object in canonical JSON.
leaf_hash <- function(leaf) sha256(c(as.raw(0), charToRaw(enc2utf8(canonical(leaf)))))

node_hash <- function(left, right) sha256(c(as.raw(1), left, right))

# The root to which a path leads from the leaf at `index` of `size` leaves.
root_of <- function(leaf, index, size, path, what) {
  demand(index < size, what, ": the leaf lies outside its tree.")
  node <- index
  last <- size - 1
  root <- leaf_hash(leaf)
  for (sibling in path) {
    demand(last > 0, what, ": the path is too long.")
    if (node %% 2 == 1 || node == last) {
      root <- node_hash(sibling, root)
      while (node %% 2 == 0 && node != 0) {
        node <- node %/% 2
        last <- last %/% 2
      }
    } else {
      root <- node_hash(root, sibling)
    }
    node <- node %/% 2
    last <- last %/% 2
  }
  demand(last == 0, what, ": the path is too short.")
  root
}

# The root over some leaves (`index`, `hash`) and the roots of the parts without any, from left to right.
root_of_several <- function(leaves, size, path, what) {
  indexes <- vapply(leaves, `[[`, 0, "index")
  demand(all(diff(indexes) > 0), what, ": the leaves are not in order.")
  demand(all(indexes < size), what, ": a leaf lies outside its tree.")
  used <- 0
  climb <- function(from, to, first, end) {
    if (from > to) {
      used <<- used + 1
      demand(used <= length(path), what, ": the path is too short.")
      return(path[[used]])
    }
    if (end - first == 1) return(leaves[[from]]$hash)
    middle <- first + 2^(ceiling(log2(end - first)) - 1)
    own <- if (from <= to) indexes[from:to] else numeric()
    cut <- from + sum(own < middle) - 1
    left <- climb(from, cut, first, middle)
    node_hash(left, climb(cut + 1, to, middle, end))
  }
  root <- climb(1, length(leaves), 0, size)
  demand(used == length(path), what, ": the path is too long.")
  root
}

# The root over the hashes of all leaves, of which there is at least one.
root_over <- function(level) {
  while (length(level) > 1) {
    pairs <- length(level) %/% 2
    above <- lapply(seq_len(pairs), function(at) node_hash(level[[2 * at - 1]], level[[2 * at]]))
    level <- c(above, level[-seq_len(2 * pairs)])
  }
  level[[1]]
}

# Refuses unless the later tree begins with all leaves of the earlier one.
verify_consistency <- function(earlier, later, path) {
  if (earlier$size == later$size) return(demand(identical(earlier$root, later$root), forked))
  node <- earlier$size - 1
  last <- later$size - 1
  while (node %% 2 == 1) {
    node <- node %/% 2
    last <- last %/% 2
  }
  # A complete earlier tree is itself the first node of the path.
  nodes <- if (node > 0) path else c(list(earlier$root), path)
  demand(length(nodes) > 0, forked)
  old <- new <- nodes[[1]]
  for (sibling in nodes[-1]) {
    demand(last > 0, forked)
    if (node %% 2 == 1 || node == last) {
      old <- node_hash(sibling, old)
      new <- node_hash(sibling, new)
      while (node %% 2 == 0 && node != 0) {
        node <- node %/% 2
        last <- last %/% 2
      }
    } else {
      new <- node_hash(new, sibling)
    }
    node <- node %/% 2
    last <- last %/% 2
  }
  demand(last == 0 && identical(old, earlier$root) && identical(new, later$root), forked)
}
