class Node:
    pass


C = Node()
C.BACKEND = "plain"
C.READER = "fast"
