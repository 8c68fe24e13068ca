"""A disk with its arm, buffer and command queue, a solid-state device, and what data sheets say of them."""
